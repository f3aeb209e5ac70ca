// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %exp2 = array.exp2 %x : tensor<2x3xf32>
  %log2 = array.log2 %exp2 : tensor<2x3xf32>
  %log10 = array.log10 %log2 : tensor<2x3xf32>
  %erfc = array.erfc %log10 : tensor<2x3xf32>
  %cbrt = array.cbrt %erfc : tensor<2x3xf32>
  %tan = array.tan %cbrt : tensor<2x3xf32>
  %asin = array.asin %tan : tensor<2x3xf32>
  %acos = array.acos %asin : tensor<2x3xf32>
  %atan = array.atan %acos : tensor<2x3xf32>
  %sinh = array.sinh %atan : tensor<2x3xf32>
  %cosh = array.cosh %sinh : tensor<2x3xf32>
  %asinh = array.asinh %cosh : tensor<2x3xf32>
  %acosh = array.acosh %asinh : tensor<2x3xf32>
  %atanh = array.atanh %acosh : tensor<2x3xf32>
  %ceil = array.ceil %atanh : tensor<2x3xf32>
  %round = array.round %ceil : tensor<2x3xf32>
  %trunc = array.trunc %round : tensor<2x3xf32>
  %lgamma = array.lgamma %trunc : tensor<2x3xf32>
  %digamma = grad.polygamma %x {order = 0} : tensor<2x3xf32>
  %sum = array.add %lgamma, %digamma : tensor<2x3xf32>
  func.return %sum : tensor<2x3xf32>
}
func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %pow = array.pow %x, %y : tensor<4xf64>
  %atan2 = array.atan2 %pow, %y : tensor<4xf64>
  %hypot = array.hypot %atan2, %y : tensor<4xf64>
  %logaddexp = array.logaddexp %hypot, %y : tensor<4xf64>
  %remainder = array.remainder %logaddexp, %y : tensor<4xf64>
  %floor_divide = array.floor_divide %remainder, %y : tensor<4xf64>
  %copysign = array.copysign %floor_divide, %y : tensor<4xf64>
  func.return %copysign : tensor<4xf64>
}
func.func @integers(%n: tensor<4xi32>, %m: tensor<4xi32>) -> tensor<4xi32> {
  %and = array.bitwise_and %n, %m : tensor<4xi32>
  %or = array.bitwise_or %and, %m : tensor<4xi32>
  %xor = array.bitwise_xor %or, %n : tensor<4xi32>
  %remainder = array.remainder %xor, %m : tensor<4xi32>
  %floor_divide = array.floor_divide %remainder, %m : tensor<4xi32>
  %pow = array.pow %floor_divide, %m : tensor<4xi32>
  %clip = array.clip %pow {min = -1, max = 2} : tensor<4xi32>
  func.return %clip : tensor<4xi32>
}
func.func @bools(%x: tensor<4xf64>) -> tensor<4xi1> {
  %low = array.clip %x {min = 0.5} : tensor<4xf64>
  %high = array.clip %low {max = 1.25} : tensor<4xf64>
  %isnan = array.isnan %high : tensor<4xf64> -> tensor<4xi1>
  %isinf = array.isinf %high : tensor<4xf64> -> tensor<4xi1>
  %isfinite = array.isfinite %high : tensor<4xf64> -> tensor<4xi1>
  %or = array.logical_or %isnan, %isinf : tensor<4xi1>
  %xor = array.logical_xor %or, %isfinite : tensor<4xi1>
  %bits = array.bitwise_and %xor, %isfinite : tensor<4xi1>
  func.return %bits : tensor<4xi1>
}
func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>) {
  %prod = array.prod %x : tensor<2x3x4xf32> -> tensor<f32>
  %var = array.var %x {axis = 1, keepdims = true, correction = 1} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
  %std = array.std %x {axis = [1, 2]} : tensor<2x3x4xf32> -> tensor<2xf32>
  func.return %prod, %var, %std : tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>
}
func.func @norms(%x: tensor<2x3x4xf32>) -> (tensor<4xf32>, tensor<2x3xf32>, tensor<f32>) {
  %one = array.norm %x {axis = [0, -2], ord = 1} : tensor<2x3x4xf32> -> tensor<4xf32>
  %two = array.norm %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
  %largest = array.norm %x {ord = "inf"} : tensor<2x3x4xf32> -> tensor<f32>
  func.return %one, %two, %largest : tensor<4xf32>, tensor<2x3xf32>, tensor<f32>
}
func.func @places(%x: tensor<2x3x4xf32>) -> (tensor<i1>, tensor<2x3xi1>, tensor<i64>, tensor<2x3x1xi64>) {
  %any = array.any %x : tensor<2x3x4xf32> -> tensor<i1>
  %all = array.all %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xi1>
  %argmax = array.argmax %x : tensor<2x3x4xf32> -> tensor<i64>
  %argmin = array.argmin %x {axis = 2, keepdims = true} : tensor<2x3x4xf32> -> tensor<2x3x1xi64>
  func.return %any, %all, %argmax, %argmin : tensor<i1>, tensor<2x3xi1>, tensor<i64>, tensor<2x3x1xi64>
}

//      CHECK: func.func @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %exp2 = array.exp2 %x : tensor<2x3xf32>
// CHECK-NEXT:   %log2 = array.log2 %exp2 : tensor<2x3xf32>
// CHECK-NEXT:   %log10 = array.log10 %log2 : tensor<2x3xf32>
// CHECK-NEXT:   %erfc = array.erfc %log10 : tensor<2x3xf32>
// CHECK-NEXT:   %cbrt = array.cbrt %erfc : tensor<2x3xf32>
// CHECK-NEXT:   %tan = array.tan %cbrt : tensor<2x3xf32>
// CHECK-NEXT:   %asin = array.asin %tan : tensor<2x3xf32>
// CHECK-NEXT:   %acos = array.acos %asin : tensor<2x3xf32>
// CHECK-NEXT:   %atan = array.atan %acos : tensor<2x3xf32>
// CHECK-NEXT:   %sinh = array.sinh %atan : tensor<2x3xf32>
// CHECK-NEXT:   %cosh = array.cosh %sinh : tensor<2x3xf32>
// CHECK-NEXT:   %asinh = array.asinh %cosh : tensor<2x3xf32>
// CHECK-NEXT:   %acosh = array.acosh %asinh : tensor<2x3xf32>
// CHECK-NEXT:   %atanh = array.atanh %acosh : tensor<2x3xf32>
// CHECK-NEXT:   %ceil = array.ceil %atanh : tensor<2x3xf32>
// CHECK-NEXT:   %round = array.round %ceil : tensor<2x3xf32>
// CHECK-NEXT:   %trunc = array.trunc %round : tensor<2x3xf32>
// CHECK-NEXT:   %lgamma = array.lgamma %trunc : tensor<2x3xf32>
// CHECK-NEXT:   %digamma = grad.polygamma %x {order = 0} : tensor<2x3xf32>
// CHECK-NEXT:   %sum = array.add %lgamma, %digamma : tensor<2x3xf32>
// CHECK-NEXT:   func.return %sum : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @binary(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %pow = array.pow %x, %y : tensor<4xf64>
// CHECK-NEXT:   %atan2 = array.atan2 %pow, %y : tensor<4xf64>
// CHECK-NEXT:   %hypot = array.hypot %atan2, %y : tensor<4xf64>
// CHECK-NEXT:   %logaddexp = array.logaddexp %hypot, %y : tensor<4xf64>
// CHECK-NEXT:   %remainder = array.remainder %logaddexp, %y : tensor<4xf64>
// CHECK-NEXT:   %floor_divide = array.floor_divide %remainder, %y : tensor<4xf64>
// CHECK-NEXT:   %copysign = array.copysign %floor_divide, %y : tensor<4xf64>
// CHECK-NEXT:   func.return %copysign : tensor<4xf64>
// CHECK-NEXT: }
//      CHECK: func.func @integers(%n: tensor<4xi32>, %m: tensor<4xi32>) -> tensor<4xi32> {
// CHECK-NEXT:   %and = array.bitwise_and %n, %m : tensor<4xi32>
// CHECK-NEXT:   %or = array.bitwise_or %and, %m : tensor<4xi32>
// CHECK-NEXT:   %xor = array.bitwise_xor %or, %n : tensor<4xi32>
// CHECK-NEXT:   %remainder = array.remainder %xor, %m : tensor<4xi32>
// CHECK-NEXT:   %floor_divide = array.floor_divide %remainder, %m : tensor<4xi32>
// CHECK-NEXT:   %pow = array.pow %floor_divide, %m : tensor<4xi32>
// CHECK-NEXT:   %clip = array.clip %pow {min = -1, max = 2} : tensor<4xi32>
// CHECK-NEXT:   func.return %clip : tensor<4xi32>
// CHECK-NEXT: }
//      CHECK: func.func @bools(%x: tensor<4xf64>) -> tensor<4xi1> {
// CHECK-NEXT:   %low = array.clip %x {min = 0.5} : tensor<4xf64>
// CHECK-NEXT:   %high = array.clip %low {max = 1.25} : tensor<4xf64>
// CHECK-NEXT:   %isnan = array.isnan %high : tensor<4xf64> -> tensor<4xi1>
// CHECK-NEXT:   %isinf = array.isinf %high : tensor<4xf64> -> tensor<4xi1>
// CHECK-NEXT:   %isfinite = array.isfinite %high : tensor<4xf64> -> tensor<4xi1>
// CHECK-NEXT:   %or = array.logical_or %isnan, %isinf : tensor<4xi1>
// CHECK-NEXT:   %xor = array.logical_xor %or, %isfinite : tensor<4xi1>
// CHECK-NEXT:   %bits = array.bitwise_and %xor, %isfinite : tensor<4xi1>
// CHECK-NEXT:   func.return %bits : tensor<4xi1>
// CHECK-NEXT: }
//      CHECK: func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>) {
// CHECK-NEXT:   %prod = array.prod %x : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:   %var = array.var %x {axis = 1, keepdims = true, correction = 1} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
// CHECK-NEXT:   %std = array.std %x {axis = [1, 2]} : tensor<2x3x4xf32> -> tensor<2xf32>
// CHECK-NEXT:   func.return %prod, %var, %std : tensor<f32>, tensor<2x1x4xf32>, tensor<2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @norms(%x: tensor<2x3x4xf32>) -> (tensor<4xf32>, tensor<2x3xf32>, tensor<f32>) {
// CHECK-NEXT:   %one = array.norm %x {axis = [0, -2], ord = 1} : tensor<2x3x4xf32> -> tensor<4xf32>
// CHECK-NEXT:   %two = array.norm %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %largest = array.norm %x {ord = "inf"} : tensor<2x3x4xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %one, %two, %largest : tensor<4xf32>, tensor<2x3xf32>, tensor<f32>
// CHECK-NEXT: }
//      CHECK: func.func @places(%x: tensor<2x3x4xf32>) -> (tensor<i1>, tensor<2x3xi1>, tensor<i64>, tensor<2x3x1xi64>) {
// CHECK-NEXT:   %any = array.any %x : tensor<2x3x4xf32> -> tensor<i1>
// CHECK-NEXT:   %all = array.all %x {axis = -1} : tensor<2x3x4xf32> -> tensor<2x3xi1>
// CHECK-NEXT:   %argmax = array.argmax %x : tensor<2x3x4xf32> -> tensor<i64>
// CHECK-NEXT:   %argmin = array.argmin %x {axis = 2, keepdims = true} : tensor<2x3x4xf32> -> tensor<2x3x1xi64>
// CHECK-NEXT:   func.return %any, %all, %argmax, %argmin : tensor<i1>, tensor<2x3xi1>, tensor<i64>, tensor<2x3x1xi64>
// CHECK-NEXT: }
