// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<9xi8>) {
  // expected-error @+1 {{grad.pack_bits: elements must be i1, got tensor<9xi8>}}
  %0 = grad.pack_bits %x : tensor<9xi8> -> tensor<2xi8>
  func.return
}

// -----

func.func @f(%x: tensor<3x3xi1>) {
  // expected-error @+1 {{grad.pack_bits: result type must be tensor<2xi8>, got tensor<9xi8>}}
  %0 = grad.pack_bits %x : tensor<3x3xi1> -> tensor<9xi8>
  func.return
}

// -----

func.func @f(%x: tensor<2xi8>) {
  // expected-error @+1 {{grad.unpack_bits: bits must be tensor<3xi8>, got tensor<2xi8>}}
  %0 = grad.unpack_bits %x : tensor<2xi8> -> tensor<17xi1>
  func.return
}

// -----

func.func @f(%x: tensor<2xi8>) {
  // expected-error @+1 {{grad.unpack_bits: elements must be i1, got tensor<16xi8>}}
  %0 = grad.unpack_bits %x : tensor<2xi8> -> tensor<16xi8>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{grad.dropout_mask: p must be in [0, 1], got 1.5}}
  %0 = grad.dropout_mask %key, %key {p = 1.5} : tensor<i64>, tensor<i64> -> tensor<4xi1>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{grad.dropout_mask: elements must be i1, got tensor<4xf32>}}
  %0 = grad.dropout_mask %key, %key : tensor<i64>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %mask: tensor<4xi8>) {
  // expected-error @+1 {{grad.drop: mask must be tensor<4xi1>, got tensor<4xi8>}}
  %0 = grad.drop %x, %mask : tensor<4xf32>, tensor<4xi8> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %mask: tensor<5xi1>) {
  // expected-error @+1 {{grad.drop: mask must be tensor<4xi1>, got tensor<5xi1>}}
  %0 = grad.drop %x, %mask : tensor<4xf32>, tensor<5xi1> -> tensor<4xf32>
  func.return
}
