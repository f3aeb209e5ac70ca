// make fuzz LEVEL=tensor CASE=23020000166
// AttributeError gradir/dialects/base/shapes.py:element_of
// [["vectorized"], 23020000166, true]
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<3xf64>, %v4: tensor<3x3xf64>, %v5: index, %v6: i1, %v7: tensor<3xi64>, %v8: tensor<40x3xf64>) -> (tensor<3x3xf64>, f64) {
%v9o = arith.constant 1 : index
%v9 = arith.addi %v5, %v9o : index
%v10 = array.flip %v7 {axis = [0]} : tensor<3xi64> -> tensor<3xi64>
%v11 = nn.softplus %v2 : tensor<f64>
%v12 = array.roll %v4 {shift = [1], axis = [1]} : tensor<3x3xf64>
%v13 = array.floor_divide %v11, %v2 : tensor<f64>
%v14 = array.cos %v12 : tensor<3x3xf64>
%v15 = arith.cmpf olt, %v1, %v1 : f64
%v16 = array.take %v8, %v10 {axis = 0} : tensor<40x3xf64>, tensor<3xi64> -> tensor<3x3xf64>
%v17 = array.add %v13, %v2 : tensor<f64>
%v18 = array.minimum %v16, %v16 : tensor<3x3xf64>
%v19 = array.flip %v7 {axis = [0]} : tensor<3xi64> -> tensor<3xi64>
%v20 = arith.negf %v1 : f64
func.return %v18, %v20 : tensor<3x3xf64>, f64
}
func.func @g1(%v21: f64, %v22: tensor<f64>, %v23: tensor<3xf64>, %v24: tensor<3x3xf64>, %v25: index, %v26: i1, %v27: tensor<3xi64>, %v28: tensor<40x3xf64>) -> (tensor<3xf64>, f64) {
%v29 = array.floor_divide %v23, %v23 : tensor<3xf64>
func.return %v29, %v21 : tensor<3xf64>, f64
}
func.func @f(%v30: f64, %v31: tensor<f64>, %v32: tensor<3xf64>, %v33: tensor<3x3xf64>, %v34: index, %v35: i1, %v36: tensor<3xi64>, %v37: tensor<40x3xf64>) -> (tensor<f64>, f64) {
%v38 = arith.constant 0 : index
%v39 = arith.constant 1 : index
%v41 = arith.constant 2 : index
%v40 = arith.remui %v34, %v41 : index
%v42:2 = scf.while (%v44 = %v31, %v43 = %v38) : (tensor<f64>, index) -> (tensor<f64>, index) {
%v45 = array.remainder %v33, %v33 : tensor<3x3xf64>
%v46 = array.sum %v37 {axis = 0} : tensor<40x3xf64> -> tensor<3xf64>
%v47 = array.take %v46, %v36 {axis = 0} : tensor<3xf64>, tensor<3xi64> -> tensor<3xf64>
%v48 = arith.cmpi slt, %v43, %v40 : index
scf.condition(%v48) %v44, %v43 : tensor<f64>, index
} do {
^bb0(%v50: tensor<f64>, %v49: index):
%v51:2 = scf.execute_region -> (tensor<f64>, tensor<3xf64>) {
%v52 = array.remainder %v50, %v50 : tensor<f64>
scf.yield %v52, %v32 : tensor<f64>, tensor<3xf64>
}
%v53 = arith.addi %v49, %v39 : index
scf.yield %v51#0, %v53 : tensor<f64>, index
} attributes {grad.loop = #grad.loop<store_all>}
func.return %v42#0, %v30 : tensor<f64>, f64
}
// without marks:
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<3xf64>, %v4: tensor<3x3xf64>, %v5: index, %v6: i1, %v7: tensor<3xi64>, %v8: tensor<40x3xf64>) -> (tensor<3x3xf64>, f64) {
%v9o = arith.constant 1 : index
%v9 = arith.addi %v5, %v9o : index
%v10 = array.flip %v7 {axis = [0]} : tensor<3xi64> -> tensor<3xi64>
%v11 = nn.softplus %v2 : tensor<f64>
%v12 = array.roll %v4 {shift = [1], axis = [1]} : tensor<3x3xf64>
%v13 = array.floor_divide %v11, %v2 : tensor<f64>
%v14 = array.cos %v12 : tensor<3x3xf64>
%v15 = arith.cmpf olt, %v1, %v1 : f64
%v16 = array.take %v8, %v10 {axis = 0} : tensor<40x3xf64>, tensor<3xi64> -> tensor<3x3xf64>
%v17 = array.add %v13, %v2 : tensor<f64>
%v18 = array.minimum %v16, %v16 : tensor<3x3xf64>
%v19 = array.flip %v7 {axis = [0]} : tensor<3xi64> -> tensor<3xi64>
%v20 = arith.negf %v1 : f64
func.return %v18, %v20 : tensor<3x3xf64>, f64
}
func.func @g1(%v21: f64, %v22: tensor<f64>, %v23: tensor<3xf64>, %v24: tensor<3x3xf64>, %v25: index, %v26: i1, %v27: tensor<3xi64>, %v28: tensor<40x3xf64>) -> (tensor<3xf64>, f64) {
%v29 = array.floor_divide %v23, %v23 : tensor<3xf64>
func.return %v29, %v21 : tensor<3xf64>, f64
}
func.func @f(%v30: f64, %v31: tensor<f64>, %v32: tensor<3xf64>, %v33: tensor<3x3xf64>, %v34: index, %v35: i1, %v36: tensor<3xi64>, %v37: tensor<40x3xf64>) -> (tensor<f64>, f64) {
%v38 = arith.constant 0 : index
%v39 = arith.constant 1 : index
%v41 = arith.constant 2 : index
%v40 = arith.remui %v34, %v41 : index
%v42:2 = scf.while (%v44 = %v31, %v43 = %v38) : (tensor<f64>, index) -> (tensor<f64>, index) {
%v45 = array.remainder %v33, %v33 : tensor<3x3xf64>
%v46 = array.sum %v37 {axis = 0} : tensor<40x3xf64> -> tensor<3xf64>
%v47 = array.take %v46, %v36 {axis = 0} : tensor<3xf64>, tensor<3xi64> -> tensor<3xf64>
%v48 = arith.cmpi slt, %v43, %v40 : index
scf.condition(%v48) %v44, %v43 : tensor<f64>, index
} do {
^bb0(%v50: tensor<f64>, %v49: index):
%v51:2 = scf.execute_region -> (tensor<f64>, tensor<3xf64>) {
%v52 = array.remainder %v50, %v50 : tensor<f64>
scf.yield %v52, %v32 : tensor<f64>, tensor<3xf64>
}
%v53 = arith.addi %v49, %v39 : index
scf.yield %v51#0, %v53 : tensor<f64>, index
}
func.return %v42#0, %v30 : tensor<f64>, f64
}
