// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%key: tensor<i32>, %counter: tensor<i64>) {
  // expected-error @+1 {{array.uniform: key and counter must be tensors of i64 of one shape, the first extents of the result's, got tensor<i32> and tensor<i64> for tensor<4xf32>}}
  %0 = array.uniform %key, %counter : tensor<i32>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>, %counter: tensor<1xi64>) {
  // expected-error @+1 {{array.normal: key and counter must be tensors of i64 of one shape, the first extents of the result's, got tensor<i64> and tensor<1xi64> for tensor<4xf32>}}
  %0 = array.normal %key, %counter : tensor<i64>, tensor<1xi64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%keys: tensor<3xi64>) {
  // expected-error @+1 {{array.normal: key and counter must be tensors of i64 of one shape, the first extents of the result's, got tensor<3xi64> and tensor<3xi64> for tensor<2x3xf32>}}
  %0 = array.normal %keys, %keys : tensor<3xi64>, tensor<3xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.random_bits: elements must be i32 or i64, got tensor<4xi8>}}
  %0 = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<4xi8>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.random_bits: elements must be integer, got tensor<4xf32>}}
  %0 = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.uniform: elements must be floating, got tensor<4xi32>}}
  %0 = array.uniform %key, %key : tensor<i64>, tensor<i64> -> tensor<4xi32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.uniform: low must be below high by a finite amount in f32, got 1.0 and 1.0}}
  %0 = array.uniform %key, %key {low = 1.0} : tensor<i64>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.uniform: low must be below high by a finite amount in bf16, got 1.0 and 1.0}}
  %0 = array.uniform %key, %key {low = 1.0, high = 1.001} : tensor<i64>, tensor<i64> -> tensor<4xbf16>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.uniform: low must be below high by a finite amount in f32, got -3.0000000054977558e+38 and 3.0000000054977558e+38}}
  %0 = array.uniform %key, %key {low = -3.0e38, high = 3.0e38} : tensor<i64>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%key: tensor<i64>) {
  // expected-error @+1 {{array.normal: unknown attribute low; known: none}}
  %0 = array.normal %key, %key {low = 1.0} : tensor<i64>, tensor<i64> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %key: tensor<i64>) {
  // expected-error @+1 {{nn.dropout: p must be in [0, 1], got 1.5}}
  %0, %1 = nn.dropout %x, %key, %key {p = 1.5} : tensor<4xf32>, tensor<i64>, tensor<i64> -> (tensor<4xf32>, tensor<4xi1>)
  func.return
}

// -----

func.func @f(%x: tensor<4xi32>, %key: tensor<i64>) {
  // expected-error @+1 {{nn.dropout: elements must be floating, got tensor<4xi32>}}
  %0, %1 = nn.dropout %x, %key, %key : tensor<4xi32>, tensor<i64>, tensor<i64> -> (tensor<4xi32>, tensor<4xi1>)
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %key: tensor<f32>) {
  // expected-error @+1 {{nn.dropout: key and counter must be tensor<i64>, got tensor<f32> and tensor<f32>}}
  %0, %1 = nn.dropout %x, %key, %key : tensor<4xf32>, tensor<f32>, tensor<f32> -> (tensor<4xf32>, tensor<4xi1>)
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %key: tensor<i64>) {
  // expected-error @+1 {{nn.dropout: result type must be tensor<4xi1>, got tensor<4xf32>}}
  %0, %1 = nn.dropout %x, %key, %key : tensor<4xf32>, tensor<i64>, tensor<i64> -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
