// RUN: gradir-opt %s --split-input-file --verify-diagnostics

// A tensor of one byte less than 2**62 is still a tensor.
func.func @f(%x: tensor<4611686018427387903xi8>, %y: tensor<?x4611686018427387903xi1>) {
  func.return
}

// -----

// expected-error @+1 {{%x: a tensor must take less than 2**62 bytes, got tensor<4611686018427387904xi8>}}
func.func @f(%x: tensor<4611686018427387904xi8>) {
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: a tensor must take less than 2**62 bytes, got tensor<2147483648x1073741824xf16>}}
  %0 = array.full {value = 1.0} : tensor<2147483648x1073741824xf16>
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{array.broadcast_to: a tensor must take less than 2**62 bytes, got tensor<0x9223372036854775807x9223372036854775807xf32>}}
  %0 = array.broadcast_to %x : tensor<f32> -> tensor<0x9223372036854775807x9223372036854775807xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{test.op: a tensor must take less than 2**62 bytes, got tensor<4611686018427387904xui32>}}
  %0 = "test.op"(%x) : (tensor<4xf32>) -> tensor<4611686018427387904xui32>
  func.return
}
