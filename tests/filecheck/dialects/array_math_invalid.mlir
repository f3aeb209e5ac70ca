// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.exp2: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.exp2 %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.log2: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.log2 %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.log10: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.log10 %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.erfc: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.erfc %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.cbrt: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.cbrt %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.tan: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.tan %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.asin: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.asin %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.acos: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.acos %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.atan: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.atan %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.sinh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.sinh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.cosh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.cosh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.asinh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.asinh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.acosh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.acosh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.atanh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.atanh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.ceil: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.ceil %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.round: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.round %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.trunc: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.trunc %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.lgamma: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.lgamma %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.atan2: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.atan2 %n, %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.hypot: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.hypot %n, %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.logaddexp: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.logaddexp %n, %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.copysign: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.copysign %n, %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.pow: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.pow %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.remainder: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.remainder %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.floor_divide: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.floor_divide %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logical_or: elements must be i1, got tensor<4x3xf32>}}
  %0 = array.logical_or %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logical_xor: elements must be i1, got tensor<4x3xf32>}}
  %0 = array.logical_xor %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.bitwise_and: elements must be integer or i1, got tensor<4x3xf32>}}
  %0 = array.bitwise_and %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.bitwise_or: elements must be integer or i1, got tensor<4x3xf32>}}
  %0 = array.bitwise_or %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.bitwise_xor: elements must be integer or i1, got tensor<4x3xf32>}}
  %0 = array.bitwise_xor %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.pow: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "array.pow"(%x, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%n: tensor<3xi64>, %m: tensor<3xi8>) {
  // expected-error @+1 {{array.bitwise_or: operand types must be equal, got tensor<3xi64> and tensor<3xi8>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "array.bitwise_or"(%n, %m) : (tensor<3xi64>, tensor<3xi8>) -> tensor<3xi64>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.isnan: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.isnan %c : tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.isnan: result type must be tensor<4x3xi1>, got tensor<4x3xf32>}}
  %0 = array.isnan %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.isinf: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.isinf %c : tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.isinf: result type must be tensor<4x3xi1>, got tensor<4x3xf32>}}
  %0 = array.isinf %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.isfinite: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.isfinite %c : tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.isfinite: result type must be tensor<4x3xi1>, got tensor<4x3xf32>}}
  %0 = array.isfinite %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.clip: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.clip %c {min = 0} : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.clip: min must not be above max, got 2.0 and 1.5}}
  %0 = array.clip %x {min = 2.0, max = 1.5} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.clip: min must be a number, got nan}}
  %0 = array.clip %x {min = 0x7FC00000 : f32} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.clip: max must be a number, got "one"}}
  %0 = array.clip %x {max = "one"} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.clip: max must be an integer in [-9223372036854775808, 9223372036854775808) for tensor<4x3xi64>, got 0.5}}
  %0 = array.clip %n {max = 0.5} : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<3xi8>) {
  // expected-error @+1 {{array.clip: min must be an integer in [-128, 128) for tensor<3xi8>, got -200}}
  %0 = array.clip %n {min = -200} : tensor<3xi8>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.clip: unknown attribute low; known: min, max}}
  %0 = array.clip %x {low = 0} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.prod: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.prod %c : tensor<4x3xi1> -> tensor<i1>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.var: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.var %n : tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.std: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.std %n : tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.norm: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.norm %n : tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.prod: axis must be in [-2, 2), got 2}}
  %0 = array.prod %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.prod: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.prod %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.var: axis must be in [-2, 2), got 2}}
  %0 = array.var %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.var: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.var %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.std: axis must be in [-2, 2), got 2}}
  %0 = array.std %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.std: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.std %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.norm: axis must be in [-2, 2), got 2}}
  %0 = array.norm %x {axis = 2} : tensor<4x3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.norm: result type must be tensor<4xf32>, got tensor<3xf32>}}
  %0 = array.norm %x {axis = 1} : tensor<4x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.any: axis must be in [-2, 2), got 2}}
  %0 = array.any %x {axis = 2} : tensor<4x3xf32> -> tensor<4xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.any: result type must be tensor<4xi1>, got tensor<3xi1>}}
  %0 = array.any %x {axis = 1} : tensor<4x3xf32> -> tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.all: axis must be in [-2, 2), got 2}}
  %0 = array.all %x {axis = 2} : tensor<4x3xf32> -> tensor<4xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.all: result type must be tensor<4xi1>, got tensor<3xi1>}}
  %0 = array.all %x {axis = 1} : tensor<4x3xf32> -> tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmax: axis must be in [-2, 2), got 2}}
  %0 = array.argmax %x {axis = 2} : tensor<4x3xf32> -> tensor<4xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmax: result type must be tensor<4xi64>, got tensor<3xi64>}}
  %0 = array.argmax %x {axis = 1} : tensor<4x3xf32> -> tensor<3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmin: axis must be in [-2, 2), got 2}}
  %0 = array.argmin %x {axis = 2} : tensor<4x3xf32> -> tensor<4xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmin: result type must be tensor<4xi64>, got tensor<3xi64>}}
  %0 = array.argmin %x {axis = 1} : tensor<4x3xf32> -> tensor<3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.any: result type must be tensor<i1>, got tensor<f32>}}
  %0 = array.any %x : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.all: result type must be tensor<i1>, got tensor<f32>}}
  %0 = array.all %x : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmax: result type must be tensor<i64>, got tensor<f32>}}
  %0 = array.argmax %x : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmin: result type must be tensor<i64>, got tensor<f32>}}
  %0 = array.argmin %x : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmax: axis must be one axis, or absent for all, got [0, 1]}}
  %0 = array.argmax %x {axis = [0, 1]} : tensor<4x3xf32> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error @+1 {{array.argmax: there must be elements to reduce, got tensor<0x3xf32>}}
  %0 = array.argmax %x : tensor<0x3xf32> -> tensor<i64>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.argmax: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.argmax %c : tensor<4x3xi1> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.argmin: axis must be one axis, or absent for all, got [0, 1]}}
  %0 = array.argmin %x {axis = [0, 1]} : tensor<4x3xf32> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<0x3xf32>) {
  // expected-error @+1 {{array.argmin: there must be elements to reduce, got tensor<0x3xf32>}}
  %0 = array.argmin %x : tensor<0x3xf32> -> tensor<i64>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.argmin: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.argmin %c : tensor<4x3xi1> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.var: correction must be a number, got "one"}}
  %0 = array.var %x {correction = "one"} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.std: correction must be a number, got "one"}}
  %0 = array.std %x {correction = "one"} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.norm: ord must be 1, 2 or inf, got 3 : i64}}
  %0 = array.norm %x {ord = 3} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.norm: ord must be a number, got "fro"}}
  %0 = array.norm %x {ord = "fro"} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.norm: unknown attribute p; known: axis, keepdims, ord}}
  %0 = array.norm %x {p = 1} : tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{grad.polygamma: elements must be floating, got tensor<4x3xi64>}}
  %0 = grad.polygamma %n {order = 0} : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.polygamma: order must be one integer, got nothing}}
  %0 = grad.polygamma %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{grad.polygamma: order must be in [0, 20], got -1}}
  %0 = grad.polygamma %x {order = -1} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.bitwise_left_shift: elements must be integer, got tensor<3xf32>}}
  %0 = array.bitwise_left_shift %x, %x : tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.bitcast: elements must be of 32 bits, or of 64 bits, got tensor<3xf32> and tensor<3xi64>}}
  %0 = array.bitcast %x : tensor<3xf32> -> tensor<3xi64>
  func.return
}

// -----

func.func @f(%b: tensor<3xi1>) {
  // expected-error @+1 {{array.bitwise_count: elements must be integer, got tensor<3xi1>}}
  %0 = array.bitwise_count %b : tensor<3xi1> -> tensor<3xui8>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: value must be an integer in [0, 65536) for tensor<2xui16>, got 65536}}
  %0 = array.full {value = 65536} : tensor<2xui16>
  func.return
}
