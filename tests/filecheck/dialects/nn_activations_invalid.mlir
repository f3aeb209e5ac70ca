// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.leaky_relu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.leaky_relu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.elu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.elu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.celu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.celu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.selu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.selu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.gelu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.gelu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.silu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.silu %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.mish: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.mish %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.softplus: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.softplus %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.logsigmoid: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.logsigmoid %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.softsign: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.softsign %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.hardtanh: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.hardtanh %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.hardsigmoid: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.hardsigmoid %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.hardswish: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.hardswish %n : tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.gelu: approximate must be one of none, tanh, got erf}}
  %0 = nn.gelu %x {approximate = "erf"} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.leaky_relu: slope must be a number, got [1 : i64]}}
  %0 = nn.leaky_relu %x {slope = [1]} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.elu: alpha must be a number, got "a"}}
  %0 = nn.elu %x {alpha = "a"} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.celu: alpha must be finite and not 0, got 0.0}}
  %0 = nn.celu %x {alpha = 0.0} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.softplus: beta must be positive and finite, got -1.0}}
  %0 = nn.softplus %x {beta = -1.0} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.hardtanh: unknown attribute min; known: none}}
  %0 = nn.hardtanh %x {min = 0.0} : tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{nn.prelu: weight must be tensor<1xf32> or tensor<3xf32>, got tensor<4xf32>}}
  %0 = nn.prelu %x, %w : tensor<4x3xf32>, tensor<4xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{nn.prelu: weight must be tensor<1xf32>, got tensor<4xf32>}}
  %0 = nn.prelu %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>, %w: tensor<1xi64>) {
  // expected-error @+1 {{nn.prelu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.prelu %n, %w : tensor<4x3xi64>, tensor<1xi64> -> tensor<4x3xi64>
  func.return
}

// -----

func.func @f(%n: tensor<4x3xi64>) {
  // expected-error @+1 {{nn.glu: elements must be floating, got tensor<4x3xi64>}}
  %0 = nn.glu %n {axis = 0} : tensor<4x3xi64> -> tensor<2x3xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.glu: axis 1 must have an even extent, got tensor<4x3xf32>}}
  %0 = nn.glu %x : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{nn.glu: axis must be in [-2, 2), got 2}}
  %0 = nn.glu %x {axis = 2} : tensor<4x3xf32> -> tensor<4x3xf32>
  func.return
}
