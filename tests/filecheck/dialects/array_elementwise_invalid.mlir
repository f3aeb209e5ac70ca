// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.exp: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.exp %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.expm1: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.expm1 %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.log: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.log %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.log1p: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.log1p %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.sqrt: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.sqrt %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.rsqrt: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.rsqrt %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.reciprocal: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.reciprocal %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.sin: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.sin %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.cos: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.cos %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.tanh: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.tanh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.erf: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.erf %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.floor: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.floor %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.abs: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.abs %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.negative: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.negative %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.square: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.square %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.sign: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.sign %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.add: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.add %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.subtract: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.subtract %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.multiply: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.multiply %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.maximum: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.maximum %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.minimum: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.minimum %c, %c : tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{array.divide: elements must be floating, got tensor<4x3xi64>}}
  %0 = array.divide %n, %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.add: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "array.add"(%x, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<4x3xf64>) {
  // expected-error @+1 {{array.multiply: operand types must be equal, got tensor<4x3xf32> and tensor<4x3xf64>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = "array.multiply"(%x, %b) : (tensor<4x3xf32>, tensor<4x3xf64>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.add: result type must be tensor<4x3xf32>, got tensor<4x3xf64>}}
  %0 = "array.add"(%x, %x) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.add: Expected 2 operands, but got 1}}
  %0 = "array.add"(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.tanh: result type must be tensor<4x3xf32>, got tensor<3x4xf32>}}
  %0 = "array.tanh"(%x) : (tensor<4x3xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.tanh: unknown attribute axis; known: none}}
  %0 = array.tanh %x {axis = 1} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%s: f32) {
  // expected-error @+1 {{array.tanh: expected ranked tensors, got f32}}
  %0 = array.tanh %s : f32
  func.return
}

// -----

func.func @f(%m: memref<4xf32>) {
  // expected-error @+1 {{array.tanh: expected ranked tensors, got memref<4xf32>}}
  %0 = array.tanh %m : memref<4xf32>
  func.return
}

// -----

func.func @f(%u: tensor<*xf32>) {
  // expected-error @+1 {{array.tanh: expected ranked tensors, got tensor<*xf32>}}
  %0 = array.tanh %u : tensor<*xf32>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.less: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.less %c, %c : tensor<4x3xi1>, tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.less_equal: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.less_equal %c, %c : tensor<4x3xi1>, tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.greater: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.greater %c, %c : tensor<4x3xi1>, tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.greater_equal: elements must be floating or integer, got tensor<4x3xi1>}}
  %0 = array.greater_equal %c, %c : tensor<4x3xi1>, tensor<4x3xi1> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.equal: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.equal %x, %b : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.not_equal: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.not_equal %x, %b : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{array.less: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.less %x, %b : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.equal: result type must be tensor<4x3xi1>, got tensor<4x3xf32>}}
  %0 = array.equal %x, %x : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logical_and: elements must be i1, got tensor<4x3xf32>}}
  %0 = array.logical_and %x, %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.logical_not: elements must be i1, got tensor<4x3xf32>}}
  %0 = array.logical_not %x : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.where: elements must be i1, got tensor<4x3xf32>}}
  %0 = array.where %x, %x, %x : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %n: tensor<4x3xi64>, %c: tensor<4x3xi1>) {
  // expected-error @+1 {{array.where: operand types must be equal, got tensor<4x3xf32> and tensor<4x3xi64>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.where %c, %x, %n : tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %c: tensor<4x1xi1>) {
  // expected-error @+1 {{array.where: operand types must be equal, got tensor<4x1xi1> and tensor<4x3xi1>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = array.where %c, %x, %x : tensor<4x1xi1>, tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{array.astype: shapes must be equal, got tensor<4x3xf32> and tensor<12xf64>; broadcast with array.broadcast_to}}
  %0 = array.astype %x : tensor<4x3xf32> -> tensor<12xf64>
  func.return
}
