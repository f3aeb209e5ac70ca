// make fuzz LEVEL=tensor CASE=110000375 (of an earlier generator)
// bits of halves, native
// [["halves"], 110000375, true]
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<f64>) {
%v8 = grad.checkpoint -> (tensor<f64>) {
%v9 = arith.constant 0 : index
%v11 = arith.constant 1 : index
%v12 = arith.constant 1 : index
%v10 = arith.remui %v5, %v12 : index
%v15 = scf.for %v13 = %v9 to %v10 step %v11 iter_args(%v14 = %v2) -> (tensor<f64>) {
scf.yield %v14 : tensor<f64>
}
grad.yield %v15 : tensor<f64>
}
%v16 = grad.checkpoint -> (tensor<f64>) {
grad.yield %v8 : tensor<f64>
}
func.return %v16 : tensor<f64>
}
// without marks:
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<f64>) {
%v8 = arith.constant 0 : index
%v10 = arith.constant 1 : index
%v11 = arith.constant 1 : index
%v9 = arith.remui %v5, %v11 : index
%v14 = scf.for %v12 = %v8 to %v9 step %v10 iter_args(%v13 = %v2) -> (tensor<f64>) {
scf.yield %v13 : tensor<f64>
}
func.return %v14 : tensor<f64>
}
