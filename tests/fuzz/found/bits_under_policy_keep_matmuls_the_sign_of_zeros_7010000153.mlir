// make fuzz LEVEL=tensor CASE=7010000153
// bits under policy keep_matmuls, the sign of zeros
// [["reloaded", "differences", "subsets", "policies", "halves"], 7010000153, true]
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<1x1xf64>, tensor<f64>) {
func.return %v4, %v2 : tensor<1x1xf64>, tensor<f64>
}
func.func @f(%v8: f64, %v9: tensor<1xf64>, %v10: tensor<1x1xf64>) -> (tensor<f64>, f64, tensor<f64>, tensor<1x1xf64>) {
%v11 = arith.negf %v8 : f64
%v12 = arith.subf %v11, %v11 : f64
%v13 = array.full {value = 0.5} : tensor<f64>
%v14 = arith.constant 1 : index
%v15 = arith.constant true
%v16 = array.full {value = 1} : tensor<1xi64>
%v17:2 = func.call @g0(%v8, %v13, %v9, %v10, %v14, %v15, %v16) : (f64, tensor<f64>, tensor<1xf64>, tensor<1x1xf64>, index, i1, tensor<1xi64>) -> (tensor<1x1xf64>, tensor<f64>)
func.return %v13, %v12, %v13, %v17#0 : tensor<f64>, f64, tensor<f64>, tensor<1x1xf64>
}
// without marks:
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<1x1xf64>, tensor<f64>) {
func.return %v4, %v2 : tensor<1x1xf64>, tensor<f64>
}
func.func @f(%v8: f64, %v9: tensor<1xf64>, %v10: tensor<1x1xf64>) -> (tensor<f64>, f64, tensor<f64>, tensor<1x1xf64>) {
%v11 = arith.negf %v8 : f64
%v12 = arith.subf %v11, %v11 : f64
%v13 = array.full {value = 0.5} : tensor<f64>
%v14 = arith.constant 1 : index
%v15 = arith.constant true
%v16 = array.full {value = 1} : tensor<1xi64>
%v17:2 = func.call @g0(%v8, %v13, %v9, %v10, %v14, %v15, %v16) : (f64, tensor<f64>, tensor<1xf64>, tensor<1x1xf64>, index, i1, tensor<1xi64>) -> (tensor<1x1xf64>, tensor<f64>)
func.return %v13, %v12, %v13, %v17#0 : tensor<f64>, f64, tensor<f64>, tensor<1x1xf64>
}
