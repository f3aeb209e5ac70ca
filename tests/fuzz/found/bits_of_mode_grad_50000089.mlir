// make fuzz LEVEL=tensor CASE=50000089 (of an earlier generator)
// bits of mode grad
// [["seeded"], 50000089, true]
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2xf64>) {
%v8 = array.prod %v4 {axis = 0} : tensor<2x2xf64> -> tensor<2xf64>
%v9 = arith.constant 0 : index
%v11 = arith.constant 1 : index
%v10 = arith.constant 1 : index
%v15:2 = scf.for %v12 = %v9 to %v10 step %v11 iter_args(%v13 = %v8, %v14 = %v4) -> (tensor<2xf64>, tensor<2x2xf64>) {
scf.yield %v3, %v14 : tensor<2xf64>, tensor<2x2xf64>
} {grad.loop = #grad.loop<every = 3>}
func.return %v15#0 : tensor<2xf64>
}
// without marks:
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2xf64>) {
%v8 = array.prod %v4 {axis = 0} : tensor<2x2xf64> -> tensor<2xf64>
%v9 = arith.constant 0 : index
%v11 = arith.constant 1 : index
%v10 = arith.constant 1 : index
%v15:2 = scf.for %v12 = %v9 to %v10 step %v11 iter_args(%v13 = %v8, %v14 = %v4) -> (tensor<2xf64>, tensor<2x2xf64>) {
scf.yield %v3, %v14 : tensor<2xf64>, tensor<2x2xf64>
}
func.return %v15#0 : tensor<2xf64>
}
