// make fuzz LEVEL=tensor CASE=4010000118
// second derivatives and differences
// [["second_order"], 4010000118, true]
func.func @f(%v1: tensor<5xf64>, %v2: tensor<5x5xf64>) -> (tensor<5xf64>) {
%v3 = array.prod %v2 {axis = 0} : tensor<5x5xf64> -> tensor<5xf64>
%v4 = array.floor_divide %v1, %v3 : tensor<5xf64>
%v5 = arith.constant 0.5 : f64
%v6 = array.full {value = 0.5} : tensor<f64>
func.return %v4 : tensor<5xf64>
}
// without marks:
func.func @f(%v1: tensor<5xf64>, %v2: tensor<5x5xf64>) -> (tensor<5xf64>) {
%v3 = array.prod %v2 {axis = 0} : tensor<5x5xf64> -> tensor<5xf64>
%v4 = array.floor_divide %v1, %v3 : tensor<5xf64>
%v5 = arith.constant 0.5 : f64
%v6 = array.full {value = 0.5} : tensor<f64>
func.return %v4 : tensor<5xf64>
}
