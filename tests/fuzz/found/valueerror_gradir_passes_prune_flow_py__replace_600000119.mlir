// make fuzz LEVEL=tensor CASE=600000119
// ValueError gradir/passes/prune_flow.py:_replace
// [["subsets"], 600000119, true]
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (f64, tensor<f64>) {
%v8 = array.matmul %v3, %v3 : tensor<1xf64>, tensor<1xf64> -> tensor<f64>
%v9 = array.sin %v8 : tensor<f64>
func.return %v1, %v9 : f64, tensor<f64>
}
func.func @f(%v10: f64, %v11: tensor<f64>, %v12: tensor<1xf64>, %v13: tensor<1x1xf64>, %v14: index, %v15: i1, %v16: tensor<1xi64>) -> (tensor<f64>) {
%v17 = scf.index_switch %v14 -> tensor<f64>
case 0 {
%v18:2 = func.call @g0(%v10, %v11, %v12, %v13, %v14, %v15, %v16) : (f64, tensor<f64>, tensor<1xf64>, tensor<1x1xf64>, index, i1, tensor<1xi64>) -> (f64, tensor<f64>)
scf.yield %v18#1 : tensor<f64>
}
case 1 {
scf.yield %v11 : tensor<f64>
}
default {
scf.yield %v11 : tensor<f64>
}
%v19 = array.floor_divide %v17, %v17 : tensor<f64>
func.return %v19 : tensor<f64>
}
// without marks:
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (f64, tensor<f64>) {
%v8 = array.matmul %v3, %v3 : tensor<1xf64>, tensor<1xf64> -> tensor<f64>
%v9 = array.sin %v8 : tensor<f64>
func.return %v1, %v9 : f64, tensor<f64>
}
func.func @f(%v10: f64, %v11: tensor<f64>, %v12: tensor<1xf64>, %v13: tensor<1x1xf64>, %v14: index, %v15: i1, %v16: tensor<1xi64>) -> (tensor<f64>) {
%v17 = scf.index_switch %v14 -> tensor<f64>
case 0 {
%v18:2 = func.call @g0(%v10, %v11, %v12, %v13, %v14, %v15, %v16) : (f64, tensor<f64>, tensor<1xf64>, tensor<1x1xf64>, index, i1, tensor<1xi64>) -> (f64, tensor<f64>)
scf.yield %v18#1 : tensor<f64>
}
case 1 {
scf.yield %v11 : tensor<f64>
}
default {
scf.yield %v11 : tensor<f64>
}
%v19 = array.floor_divide %v17, %v17 : tensor<f64>
func.return %v19 : tensor<f64>
}
