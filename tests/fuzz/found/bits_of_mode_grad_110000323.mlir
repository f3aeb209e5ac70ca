// make fuzz LEVEL=tensor CASE=110000323 (of an earlier generator)
// bits of mode grad
// [["seeded"], 110000323, false]
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2x2xf64>) {
%v8 = arith.constant 0 : index
%v9 = arith.constant 1 : index
%v10 = arith.constant 1 : index
%v11:2 = scf.while (%v13 = %v4, %v12 = %v8) : (tensor<2x2xf64>, index) -> (tensor<2x2xf64>, index) {
%v14 = array.multiply %v13, %v4 : tensor<2x2xf64>
%v15 = array.subtract %v13, %v14 : tensor<2x2xf64>
%v16 = arith.cmpi slt, %v12, %v10 : index
scf.condition(%v16) %v15, %v12 : tensor<2x2xf64>, index
} do {
^bb0(%v18: tensor<2x2xf64>, %v17: index):
%v19 = arith.addi %v17, %v9 : index
scf.yield %v18, %v19 : tensor<2x2xf64>, index
} attributes {grad.loop = #grad.loop<every = 1>}
func.return %v11#0 : tensor<2x2xf64>
}
// without marks:
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (tensor<2x2xf64>) {
%v8 = arith.constant 0 : index
%v9 = arith.constant 1 : index
%v10 = arith.constant 1 : index
%v11:2 = scf.while (%v13 = %v4, %v12 = %v8) : (tensor<2x2xf64>, index) -> (tensor<2x2xf64>, index) {
%v14 = array.multiply %v13, %v4 : tensor<2x2xf64>
%v15 = array.subtract %v13, %v14 : tensor<2x2xf64>
%v16 = arith.cmpi slt, %v12, %v10 : index
scf.condition(%v16) %v15, %v12 : tensor<2x2xf64>, index
} do {
^bb0(%v18: tensor<2x2xf64>, %v17: index):
%v19 = arith.addi %v17, %v9 : index
scf.yield %v18, %v19 : tensor<2x2xf64>, index
}
func.return %v11#0 : tensor<2x2xf64>
}
