// make fuzz LEVEL=tensor CASE=11010000016
// bits of halves, interpreted, the sign of zeros
// [["halves"], 11010000016, true]
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2xf64>, tensor<2x2xf64>) {
func.return %v3, %v4 : tensor<2xf64>, tensor<2x2xf64>
}
func.func @f(%v8: tensor<2xf64>, %v9: tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2x2xf64>) {
%v10 = array.abs %v9 : tensor<2x2xf64>
%v11 = arith.constant 0.5 : f64
%v12 = array.full {value = 0.5} : tensor<f64>
%v13 = arith.constant 1 : index
%v14 = arith.constant true
%v15 = array.full {value = 1} : tensor<2xi64>
%v16:2 = func.call @g0(%v11, %v12, %v8, %v10, %v13, %v14, %v15) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (tensor<2xf64>, tensor<2x2xf64>)
%v17 = array.floor_divide %v16#1, %v16#1 : tensor<2x2xf64>
func.return %v16#0, %v17 : tensor<2xf64>, tensor<2x2xf64>
}
// without marks:
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2xf64>, tensor<2x2xf64>) {
func.return %v3, %v4 : tensor<2xf64>, tensor<2x2xf64>
}
func.func @f(%v8: tensor<2xf64>, %v9: tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2x2xf64>) {
%v10 = array.abs %v9 : tensor<2x2xf64>
%v11 = arith.constant 0.5 : f64
%v12 = array.full {value = 0.5} : tensor<f64>
%v13 = arith.constant 1 : index
%v14 = arith.constant true
%v15 = array.full {value = 1} : tensor<2xi64>
%v16:2 = func.call @g0(%v11, %v12, %v8, %v10, %v13, %v14, %v15) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (tensor<2xf64>, tensor<2x2xf64>)
%v17 = array.floor_divide %v16#1, %v16#1 : tensor<2x2xf64>
func.return %v16#0, %v17 : tensor<2xf64>, tensor<2x2xf64>
}
