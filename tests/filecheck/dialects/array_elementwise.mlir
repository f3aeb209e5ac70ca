// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %abs = array.abs %x : tensor<2x3xf32>
  %negative = array.negative %abs : tensor<2x3xf32>
  %exp = array.exp %negative : tensor<2x3xf32>
  %expm1 = array.expm1 %exp : tensor<2x3xf32>
  %log = array.log %expm1 : tensor<2x3xf32>
  %square = array.square %log : tensor<2x3xf32>
  %log1p = array.log1p %square : tensor<2x3xf32>
  %sqrt = array.sqrt %log1p : tensor<2x3xf32>
  %reciprocal = array.reciprocal %sqrt : tensor<2x3xf32>
  %rsqrt = array.rsqrt %reciprocal : tensor<2x3xf32>
  %sin = array.sin %rsqrt : tensor<2x3xf32>
  %cos = array.cos %sin : tensor<2x3xf32>
  %tanh = array.tanh %cos : tensor<2x3xf32>
  %erf = array.erf %tanh : tensor<2x3xf32>
  %sign = array.sign %erf : tensor<2x3xf32>
  %floor = array.floor %sign : tensor<2x3xf32>
  func.return %floor : tensor<2x3xf32>
}
func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %add = array.add %x, %y : tensor<4xf64>
  %subtract = array.subtract %add, %y : tensor<4xf64>
  %multiply = array.multiply %subtract, %y : tensor<4xf64>
  %divide = array.divide %multiply, %y : tensor<4xf64>
  %maximum = array.maximum %divide, %x : tensor<4xf64>
  %minimum = array.minimum %maximum, %y : tensor<4xf64>
  func.return %minimum : tensor<4xf64>
}
func.func @compare(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %equal = array.equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %not_equal = array.not_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %less = array.less %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %less_equal = array.less_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %greater = array.greater %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %greater_equal = array.greater_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
  %and = array.logical_and %less, %greater_equal : tensor<4xi1>
  %not = array.logical_not %and : tensor<4xi1>
  %where = array.where %not, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %where : tensor<4xf32>
}
func.func @types(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf64>, tensor<4xi32>) {
  %wide = array.astype %x : tensor<4xf32> -> tensor<4xf64>
  %half = array.astype %wide : tensor<4xf64> -> tensor<4xf16>
  %bits = array.astype %half : tensor<4xf16> -> tensor<4xbf16>
  %whole = array.astype %bits : tensor<4xbf16> -> tensor<4xi32>
  %sum = array.add %whole, %n : tensor<4xi32>
  %unsigned = array.astype %sum : tensor<4xi32> -> tensor<4xui8>
  %flag = array.astype %unsigned : tensor<4xui8> -> tensor<4xi1>
  %back = array.astype %flag : tensor<4xi1> -> tensor<4xf64>
  func.return %back, %sum : tensor<4xf64>, tensor<4xi32>
}

//      CHECK: func.func @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %abs = array.abs %x : tensor<2x3xf32>
// CHECK-NEXT:   %negative = array.negative %abs : tensor<2x3xf32>
// CHECK-NEXT:   %exp = array.exp %negative : tensor<2x3xf32>
// CHECK-NEXT:   %expm1 = array.expm1 %exp : tensor<2x3xf32>
// CHECK-NEXT:   %log = array.log %expm1 : tensor<2x3xf32>
// CHECK-NEXT:   %square = array.square %log : tensor<2x3xf32>
// CHECK-NEXT:   %log1p = array.log1p %square : tensor<2x3xf32>
// CHECK-NEXT:   %sqrt = array.sqrt %log1p : tensor<2x3xf32>
// CHECK-NEXT:   %reciprocal = array.reciprocal %sqrt : tensor<2x3xf32>
// CHECK-NEXT:   %rsqrt = array.rsqrt %reciprocal : tensor<2x3xf32>
// CHECK-NEXT:   %sin = array.sin %rsqrt : tensor<2x3xf32>
// CHECK-NEXT:   %cos = array.cos %sin : tensor<2x3xf32>
// CHECK-NEXT:   %tanh = array.tanh %cos : tensor<2x3xf32>
// CHECK-NEXT:   %erf = array.erf %tanh : tensor<2x3xf32>
// CHECK-NEXT:   %sign = array.sign %erf : tensor<2x3xf32>
// CHECK-NEXT:   %floor = array.floor %sign : tensor<2x3xf32>
// CHECK-NEXT:   func.return %floor : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %add = array.add %x, %y : tensor<4xf64>
// CHECK-NEXT:   %subtract = array.subtract %add, %y : tensor<4xf64>
// CHECK-NEXT:   %multiply = array.multiply %subtract, %y : tensor<4xf64>
// CHECK-NEXT:   %divide = array.divide %multiply, %y : tensor<4xf64>
// CHECK-NEXT:   %maximum = array.maximum %divide, %x : tensor<4xf64>
// CHECK-NEXT:   %minimum = array.minimum %maximum, %y : tensor<4xf64>
// CHECK-NEXT:   func.return %minimum : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @compare(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %equal = array.equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %not_equal = array.not_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %less = array.less %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %less_equal = array.less_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %greater = array.greater %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %greater_equal = array.greater_equal %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:   %and = array.logical_and %less, %greater_equal : tensor<4xi1>
// CHECK-NEXT:   %not = array.logical_not %and : tensor<4xi1>
// CHECK-NEXT:   %where = array.where %not, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   func.return %where : tensor<4xf32>
// CHECK-NEXT: }
//      CHECK: func.func @types(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf64>, tensor<4xi32>) {
// CHECK-NEXT:   %wide = array.astype %x : tensor<4xf32> -> tensor<4xf64>
// CHECK-NEXT:   %half = array.astype %wide : tensor<4xf64> -> tensor<4xf16>
// CHECK-NEXT:   %bits = array.astype %half : tensor<4xf16> -> tensor<4xbf16>
// CHECK-NEXT:   %whole = array.astype %bits : tensor<4xbf16> -> tensor<4xi32>
// CHECK-NEXT:   %sum = array.add %whole, %n : tensor<4xi32>
// CHECK-NEXT:   %unsigned = array.astype %sum : tensor<4xi32> -> tensor<4xui8>
// CHECK-NEXT:   %flag = array.astype %unsigned : tensor<4xui8> -> tensor<4xi1>
// CHECK-NEXT:   %back = array.astype %flag : tensor<4xi1> -> tensor<4xf64>
// CHECK-NEXT:   func.return %back, %sum : tensor<4xf64>, tensor<4xi32>
// CHECK-NEXT: }
