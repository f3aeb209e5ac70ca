// make fuzz LEVEL=tensor CASE=5080
// bits of halves, interpreted
// [["rows", "second_order", "subsets", "halves"], 5080, true]
func.func @g1(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>, %v8: tensor<40x2xf64>) -> (f64, tensor<2x2xf64>) {
%v9 = array.take %v4, %v7 {axis = 1} : tensor<2x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
%v10 = array.take %v8, %v7 {axis = 0} : tensor<40x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
%v11 = array.divide %v9, %v10 : tensor<2x2xf64>
func.return %v1, %v11 : f64, tensor<2x2xf64>
}
func.func @f(%v12: f64, %v13: tensor<f64>, %v14: tensor<2xf64>, %v15: tensor<2x2xf64>, %v16: index, %v17: i1, %v18: tensor<2xi64>, %v19: tensor<40x2xf64>) -> (f64, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<f64>) {
%v20 = array.permute_dims %v15 {axes = [1, 0]} : tensor<2x2xf64> -> tensor<2x2xf64>
%v21:2 = func.call @g1(%v12, %v13, %v14, %v20, %v16, %v17, %v18, %v19) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>, tensor<40x2xf64>) -> (f64, tensor<2x2xf64>)
%v22e = array.tanh %v21#1 : tensor<2x2xf64>
%v22 = array.exp %v22e : tensor<2x2xf64>
%v23 = nn.sigmoid %v20 : tensor<2x2xf64>
func.return %v12, %v15, %v22, %v23, %v13 : f64, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<f64>
}
// without marks:
func.func @g1(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>, %v8: tensor<40x2xf64>) -> (f64, tensor<2x2xf64>) {
%v9 = array.take %v4, %v7 {axis = 1} : tensor<2x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
%v10 = array.take %v8, %v7 {axis = 0} : tensor<40x2xf64>, tensor<2xi64> -> tensor<2x2xf64>
%v11 = array.divide %v9, %v10 : tensor<2x2xf64>
func.return %v1, %v11 : f64, tensor<2x2xf64>
}
func.func @f(%v12: f64, %v13: tensor<f64>, %v14: tensor<2xf64>, %v15: tensor<2x2xf64>, %v16: index, %v17: i1, %v18: tensor<2xi64>, %v19: tensor<40x2xf64>) -> (f64, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<f64>) {
%v20 = array.permute_dims %v15 {axes = [1, 0]} : tensor<2x2xf64> -> tensor<2x2xf64>
%v21:2 = func.call @g1(%v12, %v13, %v14, %v20, %v16, %v17, %v18, %v19) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>, tensor<40x2xf64>) -> (f64, tensor<2x2xf64>)
%v22e = array.tanh %v21#1 : tensor<2x2xf64>
%v22 = array.exp %v22e : tensor<2x2xf64>
%v23 = nn.sigmoid %v20 : tensor<2x2xf64>
func.return %v12, %v15, %v22, %v23, %v13 : f64, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<f64>
}
