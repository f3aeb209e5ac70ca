// make fuzz LEVEL=tensor CASE=7020000087
// bits of halves, native, the sign of zeros
// [["halves"], 7020000087, false]
func.func @g0(%v1: f16, %v2: tensor<f16>, %v3: tensor<1xf16>, %v4: tensor<1x1xf16>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<1xf16>, tensor<f16>) {
%v8 = tensor.splat %v1 : tensor<1xf16>
%v9 = array.floor_divide %v8, %v3 : tensor<1xf16>
func.return %v9, %v2 : tensor<1xf16>, tensor<f16>
}
func.func @f(%v10: f16) -> (tensor<1xf16>) {
%v11 = math.absf %v10 : f16
%v12 = array.full {value = 0.5} : tensor<f16>
%v13 = array.full {value = 0.5} : tensor<1xf16>
%v14 = array.full {value = 0.5} : tensor<1x1xf16>
%v15 = arith.constant 1 : index
%v16 = arith.constant true
%v17 = array.full {value = 1} : tensor<1xi64>
%v18:2 = func.call @g0(%v11, %v12, %v13, %v14, %v15, %v16, %v17) : (f16, tensor<f16>, tensor<1xf16>, tensor<1x1xf16>, index, i1, tensor<1xi64>) -> (tensor<1xf16>, tensor<f16>)
func.return %v18#0 : tensor<1xf16>
}
// without marks:
func.func @g0(%v1: f16, %v2: tensor<f16>, %v3: tensor<1xf16>, %v4: tensor<1x1xf16>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<1xf16>, tensor<f16>) {
%v8 = tensor.splat %v1 : tensor<1xf16>
%v9 = array.floor_divide %v8, %v3 : tensor<1xf16>
func.return %v9, %v2 : tensor<1xf16>, tensor<f16>
}
func.func @f(%v10: f16) -> (tensor<1xf16>) {
%v11 = math.absf %v10 : f16
%v12 = array.full {value = 0.5} : tensor<f16>
%v13 = array.full {value = 0.5} : tensor<1xf16>
%v14 = array.full {value = 0.5} : tensor<1x1xf16>
%v15 = arith.constant 1 : index
%v16 = arith.constant true
%v17 = array.full {value = 1} : tensor<1xi64>
%v18:2 = func.call @g0(%v11, %v12, %v13, %v14, %v15, %v16, %v17) : (f16, tensor<f16>, tensor<1xf16>, tensor<1x1xf16>, index, i1, tensor<1xi64>) -> (tensor<1xf16>, tensor<f16>)
func.return %v18#0 : tensor<1xf16>
}
