// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @attention(%q: tensor<2x4x3xf32>, %k: tensor<2x5x3xf32>, %v: tensor<2x5x2xf32>, %keep: tensor<4x5xi1>, %bias: tensor<2x1x5xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>) {
  %plain = nn.attention %q, %k, %v {causal = true} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
  %masked = nn.attention %q, %k, %v, %keep {scale = 0.5} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<4x5xi1> -> tensor<2x4x2xf32>
  %biased = nn.attention %q, %k, %v, %bias : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x1x5xf32> -> tensor<2x4x2xf32>
  func.return %plain, %masked, %biased : tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>
}
func.func @backward(%ct: tensor<2x4x2xf32>, %y: tensor<2x4x2xf32>, %q: tensor<2x4x3xf32>, %k: tensor<2x5x3xf32>, %v: tensor<2x5x2xf32>, %bias: tensor<5xf32>) -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>) {
  %to_q, %to_k, %to_v, %to_bias = grad.attention_backward %ct, %y, %q, %k, %v, %bias {causal = true} : tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32> -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>)
  %more = grad.accumulate_slice %to_v, %ct {start = [0, 1, 0]} : tensor<2x5x2xf32>, tensor<2x4x2xf32> -> tensor<2x5x2xf32>
  func.return %to_q, %to_k, %more, %to_bias : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>
}
func.func @embedding(%table: tensor<4x3xf32>, %ids: tensor<2x2xi32>) -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>) {
  %0 = nn.embedding %table, %ids : tensor<4x3xf32>, tensor<2x2xi32> -> tensor<2x2x3xf32>
  %1 = nn.embedding %table, %ids {padding_idx = -1} : tensor<4x3xf32>, tensor<2x2xi32> -> tensor<2x2x3xf32>
  func.return %0, %1 : tensor<2x2x3xf32>, tensor<2x2x3xf32>
}
func.func @cells(%x: tensor<2x3xf32>, %h: tensor<2x1xf32>, %c: tensor<2x1xf32>, %w: tensor<4x3xf32>, %u: tensor<4x1xf32>, %b: tensor<4xf32>, %w3: tensor<3x3xf32>, %u3: tensor<3x1xf32>, %b3: tensor<3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
  %next_h, %next_c = nn.lstm_cell %x, %h, %c, %w, %u, %b, %b : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
  %state = nn.gru_cell %x, %h, %w3, %u3, %b3, %b3 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<3x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x1xf32>
  func.return %next_h, %next_c, %state : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>
}

//      CHECK: func.func @attention(%q: tensor<2x4x3xf32>, %k: tensor<2x5x3xf32>, %v: tensor<2x5x2xf32>, %keep: tensor<4x5xi1>, %bias: tensor<2x1x5xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>) {
// CHECK-NEXT:   %plain = nn.attention %q, %k, %v {causal = true} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32> -> tensor<2x4x2xf32>
// CHECK-NEXT:   %masked = nn.attention %q, %k, %v, %keep {scale = 0.5} : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<4x5xi1> -> tensor<2x4x2xf32>
// CHECK-NEXT:   %biased = nn.attention %q, %k, %v, %bias : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<2x1x5xf32> -> tensor<2x4x2xf32>
// CHECK-NEXT:   func.return %plain, %masked, %biased : tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x2xf32>
// CHECK-NEXT: }
//      CHECK: func.func @backward(%ct: tensor<2x4x2xf32>, %y: tensor<2x4x2xf32>, %q: tensor<2x4x3xf32>, %k: tensor<2x5x3xf32>, %v: tensor<2x5x2xf32>, %bias: tensor<5xf32>) -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>) {
// CHECK-NEXT:   %to_q, %to_k, %to_v, %to_bias = grad.attention_backward %ct, %y, %q, %k, %v, %bias {causal = true} : tensor<2x4x2xf32>, tensor<2x4x2xf32>, tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32> -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>)
// CHECK-NEXT:   %more = grad.accumulate_slice %to_v, %ct {start = [0, 1, 0]} : tensor<2x5x2xf32>, tensor<2x4x2xf32> -> tensor<2x5x2xf32>
// CHECK-NEXT:   func.return %to_q, %to_k, %more, %to_bias : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<2x5x2xf32>, tensor<5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @embedding(%table: tensor<4x3xf32>, %ids: tensor<2x2xi32>) -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>) {
// CHECK-NEXT:   %0 = nn.embedding %table, %ids : tensor<4x3xf32>, tensor<2x2xi32> -> tensor<2x2x3xf32>
// CHECK-NEXT:   %1 = nn.embedding %table, %ids {padding_idx = -1} : tensor<4x3xf32>, tensor<2x2xi32> -> tensor<2x2x3xf32>
// CHECK-NEXT:   func.return %0, %1 : tensor<2x2x3xf32>, tensor<2x2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @cells(%x: tensor<2x3xf32>, %h: tensor<2x1xf32>, %c: tensor<2x1xf32>, %w: tensor<4x3xf32>, %u: tensor<4x1xf32>, %b: tensor<4xf32>, %w3: tensor<3x3xf32>, %u3: tensor<3x1xf32>, %b3: tensor<3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
// CHECK-NEXT:   %next_h, %next_c = nn.lstm_cell %x, %h, %c, %w, %u, %b, %b : tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x1xf32>, tensor<2x1xf32>)
// CHECK-NEXT:   %state = nn.gru_cell %x, %h, %w3, %u3, %b3, %b3 : tensor<2x3xf32>, tensor<2x1xf32>, tensor<3x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x1xf32>
// CHECK-NEXT:   func.return %next_h, %next_c, %state : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>
// CHECK-NEXT: }
