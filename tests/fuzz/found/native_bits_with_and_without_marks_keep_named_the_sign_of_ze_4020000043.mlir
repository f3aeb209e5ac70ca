// make fuzz LEVEL=tensor CASE=4020000043
// native bits with and without marks, keep_named, the sign of zeros
// [["native_forward", "halves", "native_gradient", "marks_native", "marks", "differences", "subsets", "transposed"], 4020000043, true]
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (f64, tensor<2x2xf64>) {
%v8 = array.cos %v4 : tensor<2x2xf64>
%v9n = arith.constant 2 : index
%v9i = arith.remui %v5, %v9n : index
%v9 = tensor.extract %v8[%v9i, %v9i] : tensor<2x2xf64>
%v10n = arith.constant 2 : index
%v10i = arith.remui %v5, %v10n : index
%v10 = tensor.insert_slice %v3 into %v4[0, %v10i] [2, 1] [1, 1] : tensor<2xf64> into tensor<2x2xf64>
func.return %v9, %v10 : f64, tensor<2x2xf64>
}
func.func @f(%v11: tensor<2xf64>) -> (f64) {
%v12 = arith.constant 0.5 : f64
%v13 = array.full {value = 0.5} : tensor<f64>
%v14 = array.full {value = 0.5} : tensor<2x2xf64>
%v15 = arith.constant 1 : index
%v16 = arith.constant true
%v17 = array.full {value = 1} : tensor<2xi64>
%v18:2 = func.call @g0(%v12, %v13, %v11, %v14, %v15, %v16, %v17) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (f64, tensor<2x2xf64>)
%v19:2 = func.call @g0(%v12, %v13, %v11, %v18#1, %v15, %v16, %v17) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (f64, tensor<2x2xf64>)
func.return %v19#0 : f64
}
// without marks:
func.func @g0(%v1: f64, %v2: tensor<f64>, %v3: tensor<2xf64>, %v4: tensor<2x2xf64>, %v5: index, %v6: i1, %v7: tensor<2xi64>) -> (f64, tensor<2x2xf64>) {
%v8 = array.cos %v4 : tensor<2x2xf64>
%v9n = arith.constant 2 : index
%v9i = arith.remui %v5, %v9n : index
%v9 = tensor.extract %v8[%v9i, %v9i] : tensor<2x2xf64>
%v10n = arith.constant 2 : index
%v10i = arith.remui %v5, %v10n : index
%v10 = tensor.insert_slice %v3 into %v4[0, %v10i] [2, 1] [1, 1] : tensor<2xf64> into tensor<2x2xf64>
func.return %v9, %v10 : f64, tensor<2x2xf64>
}
func.func @f(%v11: tensor<2xf64>) -> (f64) {
%v12 = arith.constant 0.5 : f64
%v13 = array.full {value = 0.5} : tensor<f64>
%v14 = array.full {value = 0.5} : tensor<2x2xf64>
%v15 = arith.constant 1 : index
%v16 = arith.constant true
%v17 = array.full {value = 1} : tensor<2xi64>
%v18:2 = func.call @g0(%v12, %v13, %v11, %v14, %v15, %v16, %v17) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (f64, tensor<2x2xf64>)
%v19:2 = func.call @g0(%v12, %v13, %v11, %v18#1, %v15, %v16, %v17) : (f64, tensor<f64>, tensor<2xf64>, tensor<2x2xf64>, index, i1, tensor<2xi64>) -> (f64, tensor<2x2xf64>)
func.return %v19#0 : f64
}
