// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.relu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.relu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.sigmoid: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.sigmoid %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.softmax: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.softmax %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.softmax: axis must be in [-2, 2), got 2}}
  %0 = nn.softmax %x {axis = 2} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.log_softmax: axis must be in [-2, 2), got -3}}
  %0 = nn.log_softmax %x {axis = -3} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%s: tensor<f32>) {
  // expected-error @+1 {{nn.log_softmax: axis must be in [0, 0), got -1}}
  %0 = nn.log_softmax %s : tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<5x4xf32>) {
  // expected-error @+1 {{nn.linear: x [..., in] and weight [out, in] expected, got tensor<4x3xf32> and tensor<5x4xf32>}}
  %0 = nn.linear %x, %w : tensor<4x3xf32>, tensor<5x4xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{nn.linear: x [..., in] and weight [out, in] expected, got tensor<4x3xf32> and tensor<3xf32>}}
  %0 = nn.linear %x, %w : tensor<4x3xf32>, tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<5x3xf64>) {
  // expected-error @+1 {{nn.linear: elements must agree, got tensor<4x3xf32> and tensor<5x3xf64>}}
  %0 = nn.linear %x, %w : tensor<4x3xf32>, tensor<5x3xf64> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{nn.linear: bias must be tensor<5xf32>, got tensor<4xf32>}}
  %0 = nn.linear %x, %w, %b : tensor<4x3xf32>, tensor<5x3xf32>, tensor<4xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>) {
  // expected-error @+1 {{nn.linear: result type must be tensor<4x5xf32>, got tensor<4x3xf32>}}
  %0 = nn.linear %x, %w : tensor<4x3xf32>, tensor<5x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.linear: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.linear %n, %n : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<4x4xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.nll_loss %n, %t : tensor<4x3xi64>, tensor<4xi64> -> tensor<i64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xf32>) {
  // expected-error @+1 {{nn.nll_loss: targets must be integers, a class each, got tensor<4xf32>; convert them by astype}}
  %0 = nn.nll_loss %x, %t : tensor<4x3xf32>, tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<3xi64>) {
  // expected-error @+1 {{nn.nll_loss: targets must have shape [4] for log_probs tensor<4x3xf32>, got tensor<3xi64>}}
  %0 = nn.nll_loss %x, %t : tensor<4x3xf32>, tensor<3xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<f32>, %t: tensor<i64>) {
  // expected-error @+1 {{nn.nll_loss: log_probs must have rank >= 1, got tensor<f32>}}
  %0 = nn.nll_loss %x, %t : tensor<f32>, tensor<i64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x0xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: there must be at least one class, got tensor<4x0xf32>}}
  %0 = nn.nll_loss %x, %t : tensor<4x0xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>, %w: tensor<4xf32>) {
  // expected-error @+1 {{nn.nll_loss: weights must be tensor<3xf32>, got tensor<4xf32>}}
  %0 = nn.nll_loss %x, %t, %w : tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: reduction must be one of mean, sum, none, got max}}
  %0 = nn.nll_loss %x, %t {reduction = "max"} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: result type must be tensor<4xf32>, got tensor<f32>}}
  %0 = nn.nll_loss %x, %t {reduction = "none"} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: label_smoothing must be in [0, 1], got 1.5}}
  %0 = nn.nll_loss %x, %t {label_smoothing = 1.5} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.nll_loss: ignore_index must be one integer, got [1 : i64, 2 : i64]}}
  %0 = nn.nll_loss %x, %t {ignore_index = [1, 2]} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4xi64>) {
  // expected-error @+1 {{nn.cross_entropy: unknown attribute smoothing; known: reduction, ignore_index, label_smoothing}}
  %0 = nn.cross_entropy %x, %t {smoothing = 0.5} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %t: tensor<4x1xi64>) {
  // expected-error @+1 {{nn.cross_entropy: targets must have shape [4] for logits tensor<4x3xf32>, got tensor<4x1xi64>}}
  %0 = nn.cross_entropy %x, %t : tensor<4x3xf32>, tensor<4x1xi64> -> tensor<f32>
  func.return
}
