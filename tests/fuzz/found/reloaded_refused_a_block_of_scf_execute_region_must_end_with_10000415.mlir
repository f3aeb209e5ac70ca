// make fuzz LEVEL=tensor CASE=10000415 (of an earlier generator)
// reloaded refused a block of scf.execute_region must end with a terminator
// [["reloaded"], 10000415, true]
func.func @g0(%v1: bf16, %v2: tensor<bf16>, %v3: tensor<1xbf16>, %v4: tensor<1x1xbf16>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (bf16) {
func.return %v1 : bf16
}
func.func @f(%v8: bf16, %v9: tensor<bf16>, %v10: tensor<1xbf16>, %v11: tensor<1x1xbf16>, %v12: index, %v13: i1, %v14: tensor<1xi64>) -> (bf16) {
%v15 = scf.execute_region -> (bf16) {
%v16 = func.call @g0(%v8, %v9, %v10, %v11, %v12, %v13, %v14) : (bf16, tensor<bf16>, tensor<1xbf16>, tensor<1x1xbf16>, index, i1, tensor<1xi64>) -> (bf16)
scf.yield %v8 : bf16
}
func.return %v8 : bf16
}
// without marks:
func.func @g0(%v1: bf16, %v2: tensor<bf16>, %v3: tensor<1xbf16>, %v4: tensor<1x1xbf16>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (bf16) {
func.return %v1 : bf16
}
func.func @f(%v8: bf16, %v9: tensor<bf16>, %v10: tensor<1xbf16>, %v11: tensor<1x1xbf16>, %v12: index, %v13: i1, %v14: tensor<1xi64>) -> (bf16) {
%v15 = scf.execute_region -> (bf16) {
%v16 = func.call @g0(%v8, %v9, %v10, %v11, %v12, %v13, %v14) : (bf16, tensor<bf16>, tensor<1xbf16>, tensor<1x1xbf16>, index, i1, tensor<1xi64>) -> (bf16)
scf.yield %v8 : bf16
}
func.return %v8 : bf16
}
