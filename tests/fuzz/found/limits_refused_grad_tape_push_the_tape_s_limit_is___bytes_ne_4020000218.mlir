// make fuzz LEVEL=tensor CASE=4020000218
// limits refused grad.tape_push: the tape's limit is _ bytes, needed _
// [["limits"], 4020000218, true]
func.func @f(%v1: f64) -> (f64) {
%v2 = arith.constant 0 : index
%v3 = arith.constant 1 : index
%v4 = arith.constant 0 : index
%v5:2 = scf.while (%v7 = %v1, %v6 = %v2) : (f64, index) -> (f64, index) {
%v8 = arith.divf %v1, %v7 : f64
%v9 = arith.cmpi slt, %v6, %v4 : index
scf.condition(%v9) %v8, %v6 : f64, index
} do {
^bb0(%v11: f64, %v10: index):
%v12 = arith.addi %v10, %v3 : index
scf.yield %v11, %v12 : f64, index
} attributes {grad.loop = #grad.loop<store_all>}
func.return %v5#0 : f64
}
// without marks:
func.func @f(%v1: f64) -> (f64) {
%v2 = arith.constant 0 : index
%v3 = arith.constant 1 : index
%v4 = arith.constant 0 : index
%v5:2 = scf.while (%v7 = %v1, %v6 = %v2) : (f64, index) -> (f64, index) {
%v8 = arith.divf %v1, %v7 : f64
%v9 = arith.cmpi slt, %v6, %v4 : index
scf.condition(%v9) %v8, %v6 : f64, index
} do {
^bb0(%v11: f64, %v10: index):
%v12 = arith.addi %v10, %v3 : index
scf.yield %v11, %v12 : f64, index
}
func.return %v5#0 : f64
}
