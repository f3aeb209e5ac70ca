// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.mse_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.mse_loss %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.l1_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.l1_loss %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.huber_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.huber_loss %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.smooth_l1_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.smooth_l1_loss %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.bce_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.bce_loss %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.bce_with_logits: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.bce_with_logits %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.kl_div: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.kl_div %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<3xf32>) {
  // expected-error @+1 {{nn.mse_loss: operand types must be equal, got tensor<4x3xf32> and tensor<3xf32>; broadcast with array.broadcast_to or convert with array.astype}}
  %0 = nn.mse_loss %x, %t : tensor<4x3xf32>, tensor<3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.l1_loss: reduction must be one of mean, sum, none, got batchmean}}
  %0 = nn.l1_loss %x, %x {reduction = "batchmean"} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.kl_div: result type must be tensor<4x3xf32>, got tensor<f32>}}
  %0 = nn.kl_div %x, %x {reduction = "none"} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.huber_loss: delta must be positive and finite, got 0.0}}
  %0 = nn.huber_loss %x, %x {delta = 0.0} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.smooth_l1_loss: beta must be finite and not negative, got -0.5}}
  %0 = nn.smooth_l1_loss %x, %x {beta = -0.5} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.mse_loss: unknown attribute delta; known: reduction}}
  %0 = nn.mse_loss %x, %x {delta = 0.5} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>
  func.return
}
