// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%0: tensor<2x4x3xi32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: elements must be floating, got tensor<2x4x3xi32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xi32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf64>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: elements must agree, got tensor<2x4x3xf32>, tensor<2x5x3xf64> and tensor<2x5x2xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xf32>, tensor<2x5x3xf64>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<1x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: q, k and v must be matrices with the same leading axes, got tensor<2x4x3xf32>, tensor<1x5x3xf32> and tensor<2x5x2xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xf32>, tensor<1x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) {
  // expected-error @+1 {{nn.attention: q, k and v must be matrices with the same leading axes, got tensor<3xf32>, tensor<3xf32> and tensor<3xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x4xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: q [..., L, E], k [..., S, E] and v [..., S, Ev] expected, E not 0, got tensor<2x4x3xf32>, tensor<2x5x4xf32> and tensor<2x5x2xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xf32>, tensor<2x5x4xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x4x2xf32>) {
  // expected-error @+1 {{nn.attention: q [..., L, E], k [..., S, E] and v [..., S, Ev] expected, E not 0, got tensor<2x4x3xf32>, tensor<2x5x3xf32> and tensor<2x4x2xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x4x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x0xf32>, %1: tensor<2x5x0xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: q [..., L, E], k [..., S, E] and v [..., S, Ev] expected, E not 0, got tensor<2x4x0xf32>, tensor<2x5x0xf32> and tensor<2x5x2xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x0xf32>, tensor<2x5x0xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: scale must be positive and finite, got 0.0}}
  %r = nn.attention %0, %1, %2 {scale = 0.0} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: causal must be true or false, got 1 : i64}}
  %r = nn.attention %0, %1, %2 {causal = 1} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: unknown attribute window; known: causal, scale}}
  %r = nn.attention %0, %1, %2 {window = 3} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>, %3: tensor<4x5xf64>) {
  // expected-error @+1 {{nn.attention: the mask's elements must be i1 or f32, got tensor<4x5xf64>}}
  %r = nn.attention %0, %1, %2, %3 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<4x5xf64> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>, %3: tensor<5x4xi1>) {
  // expected-error @+1 {{nn.attention: the mask must broadcast to [2, 4, 5], got tensor<5x4xi1>}}
  %r = nn.attention %0, %1, %2, %3 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5x4xi1> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>, %3: tensor<1x2x4x5xi1>) {
  // expected-error @+1 {{nn.attention: the mask must broadcast to [2, 4, 5], got tensor<1x2x4x5xi1>}}
  %r = nn.attention %0, %1, %2, %3 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<1x2x4x5xi1> -> tensor<2x4x2xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x5x3xf32>, %2: tensor<2x5x2xf32>) {
  // expected-error @+1 {{nn.attention: result type must be tensor<2x4x2xf32>, got tensor<2x4x3xf32>}}
  %r = nn.attention %0, %1, %2 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x3xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x4x3xf32>, %1: tensor<2x4x2xf32>, %2: tensor<2x4x3xf32>, %3: tensor<2x5x3xf32>, %4: tensor<2x5x2xf32>) {
  // expected-error @+1 {{grad.attention_backward: ct must be tensor<2x4x2xf32>, got tensor<2x4x3xf32>}}
  %r:3 = grad.attention_backward %0, %1, %2, %3, %4 : tensor<2x4x3xf32>, tensor<2x4x2xf32>, tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x4x2xf32>, %1: tensor<2x4x2xf64>, %2: tensor<2x4x3xf32>, %3: tensor<2x5x3xf32>, %4: tensor<2x5x2xf32>) {
  // expected-error @+1 {{grad.attention_backward: y must be tensor<2x4x2xf32>, got tensor<2x4x2xf64>}}
  %r:3 = grad.attention_backward %0, %1, %2, %3, %4 : tensor<2x4x2xf32>, tensor<2x4x2xf64>, tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x4x2xf32>, %1: tensor<2x4x2xf32>, %2: tensor<2x4x3xf32>, %3: tensor<2x5x2xf32>, %4: tensor<2x5x2xf32>) {
  // expected-error @+1 {{grad.attention_backward: q [..., L, E], k [..., S, E] and v [..., S, Ev] expected, E not 0, got tensor<2x4x3xf32>, tensor<2x5x2xf32> and tensor<2x5x2xf32>}}
  %r:3 = grad.attention_backward %0, %1, %2, %3, %4 : tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x3xf32>, tensor<2x5x2xf32>, tensor<2x5x2xf32> -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>)
  func.return
}

// -----

func.func @f(%x: tensor<2x5x2xf32>, %u: tensor<2x4x2xf32>) {
  // expected-error @+1 {{grad.accumulate_slice: updates tensor<2x4x2xf32> must lie inside tensor<2x5x2xf32>, got start [0, 2, 0]}}
  %r = grad.accumulate_slice %x, %u {start = [0, 2, 0]} : tensor<2x5x2xf32>, tensor<2x4x2xf32> -> tensor<2x5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x5x2xf32>, %u: tensor<2x4x2xf32>) {
  // expected-error @+1 {{grad.accumulate_slice: start must have 3 entries, got 2}}
  %r = grad.accumulate_slice %x, %u {start = [0, 2]} : tensor<2x5x2xf32>, tensor<2x4x2xf32> -> tensor<2x5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x5x2xf32>, %u: tensor<2x4x2xf32>) {
  // expected-error @+1 {{grad.accumulate_slice: updates tensor<2x4x2xf32> must lie inside tensor<2x5x2xf32>, got start [0, -1, 0]}}
  %r = grad.accumulate_slice %x, %u {start = [0, -1, 0]} : tensor<2x5x2xf32>, tensor<2x4x2xf32> -> tensor<2x5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x5x2xf32>, %u: tensor<5x2xf32>) {
  // expected-error @+1 {{grad.accumulate_slice: ranks and elements must agree, got tensor<2x5x2xf32> and tensor<5x2xf32>}}
  %r = grad.accumulate_slice %x, %u : tensor<2x5x2xf32>, tensor<5x2xf32> -> tensor<2x5x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xi32>, %u: tensor<3xi32>) {
  // expected-error @+1 {{grad.accumulate_slice: elements must be floating, got tensor<3xi32>}}
  %r = grad.accumulate_slice %x, %u : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  func.return
}

// -----

func.func @f(%t: tensor<4x3x1xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{nn.embedding: table must be a matrix, got tensor<4x3x1xf32>}}
  %r = nn.embedding %t, %i : tensor<4x3x1xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%t: tensor<4x3xi32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{nn.embedding: elements must be floating, got tensor<4x3xi32>}}
  %r = nn.embedding %t, %i : tensor<4x3xi32>, tensor<2xi64> -> tensor<2x3xi32>
  func.return
}

// -----

func.func @f(%t: tensor<4x3xf32>, %i: tensor<2xf32>) {
  // expected-error @+1 {{nn.embedding: elements must be integer, got tensor<2xf32>}}
  %r = nn.embedding %t, %i : tensor<4x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%t: tensor<0x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{nn.embedding: the indexed axis is empty, so that no index is valid}}
  %r = nn.embedding %t, %i : tensor<0x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{nn.embedding: padding_idx must be a row of the table, got 4 for tensor<4x3xf32>}}
  %r = nn.embedding %t, %i {padding_idx = 4} : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x3xi32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: elements must be floating, got tensor<2x3xi32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xi32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf64>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: elements must agree, got tensor<2x3xf32> and tensor<2x1xf64>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x1xf64>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<f32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: x [..., in] and h [..., hidden] expected, got tensor<f32> and tensor<2x1xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<f32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<3x3xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: h must be tensor<3x1xf32>, got tensor<2x1xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<3x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<2x2xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: c must be tensor<2x1xf32>, got tensor<2x2xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<3x3xf32>, %4: tensor<4x1xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: w_ih must be tensor<4x3xf32>, got tensor<3x3xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<3x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x3xf32>, %5: tensor<4xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: w_hh must be tensor<4x1xf32>, got tensor<4x3xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<2x1xf32>, %3: tensor<4x3xf32>, %4: tensor<4x1xf32>, %5: tensor<3xf32>, %6: tensor<4xf32>) {
  // expected-error @+1 {{nn.lstm_cell: b_ih must be tensor<4xf32>, got tensor<3xf32>}}
  %r:2 = nn.lstm_cell %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<3xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<4x3xf32>, %3: tensor<3x1xf32>, %4: tensor<3xf32>, %5: tensor<3xf32>) {
  // expected-error @+1 {{nn.gru_cell: w_ih must be tensor<3x3xf32>, got tensor<4x3xf32>}}
  %r = nn.gru_cell %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x1xf32>
  func.return
}

// -----

func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x1xf32>, %2: tensor<3x3xf32>, %3: tensor<3x1xf32>, %4: tensor<3xf32>, %5: tensor<1xf32>) {
  // expected-error @+1 {{nn.gru_cell: b_hh must be tensor<3xf32>, got tensor<1xf32>}}
  %r = nn.gru_cell %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<3x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<1xf32> -> tensor<2x1xf32>
  func.return
}
