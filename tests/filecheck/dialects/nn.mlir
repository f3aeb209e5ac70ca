// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @activations(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %relu = nn.relu %x : tensor<2x3xf32>
  %sigmoid = nn.sigmoid %relu : tensor<2x3xf32>
  %softmax = nn.softmax %sigmoid {axis = 0} : tensor<2x3xf32>
  %log_softmax = nn.log_softmax %softmax : tensor<2x3xf32>
  func.return %log_softmax : tensor<2x3xf32>
}
func.func @linear(%x: tensor<7x2x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> (tensor<7x2x5xf32>, tensor<7x2x5xf32>) {
  %plain = nn.linear %x, %w : tensor<7x2x3xf32>, tensor<5x3xf32> -> tensor<7x2x5xf32>
  %biased = nn.linear %x, %w, %b : tensor<7x2x3xf32>, tensor<5x3xf32>, tensor<5xf32> -> tensor<7x2x5xf32>
  func.return %plain, %biased : tensor<7x2x5xf32>, tensor<7x2x5xf32>
}
func.func @losses(%x: tensor<4x3xf32>, %t: tensor<4xi64>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %nll = nn.nll_loss %x, %t : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  %each = nn.nll_loss %x, %t, %w {reduction = "none", ignore_index = 1} : tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32> -> tensor<4xf32>
  %sum = nn.cross_entropy %x, %t {reduction = "sum", label_smoothing = 0.1} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
  %mean = nn.cross_entropy %x, %t, %w : tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32> -> tensor<f32>
  func.return %nll, %each, %sum, %mean : tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>
}

//      CHECK: func.func @activations(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %relu = nn.relu %x : tensor<2x3xf32>
// CHECK-NEXT:   %sigmoid = nn.sigmoid %relu : tensor<2x3xf32>
// CHECK-NEXT:   %softmax = nn.softmax %sigmoid {axis = 0} : tensor<2x3xf32>
// CHECK-NEXT:   %log_softmax = nn.log_softmax %softmax : tensor<2x3xf32>
// CHECK-NEXT:   func.return %log_softmax : tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @linear(%x: tensor<7x2x3xf32>, %w: tensor<5x3xf32>, %b: tensor<5xf32>) -> (tensor<7x2x5xf32>, tensor<7x2x5xf32>) {
// CHECK-NEXT:   %plain = nn.linear %x, %w : tensor<7x2x3xf32>, tensor<5x3xf32> -> tensor<7x2x5xf32>
// CHECK-NEXT:   %biased = nn.linear %x, %w, %b : tensor<7x2x3xf32>, tensor<5x3xf32>, tensor<5xf32> -> tensor<7x2x5xf32>
// CHECK-NEXT:   func.return %plain, %biased : tensor<7x2x5xf32>, tensor<7x2x5xf32>
// CHECK-NEXT: }
//      CHECK: func.func @losses(%x: tensor<4x3xf32>, %t: tensor<4xi64>, %w: tensor<3xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   %nll = nn.nll_loss %x, %t : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
// CHECK-NEXT:   %each = nn.nll_loss %x, %t, %w {reduction = "none", ignore_index = 1} : tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32> -> tensor<4xf32>
// CHECK-NEXT:   %sum = nn.cross_entropy %x, %t {reduction = "sum", label_smoothing = 0.1} : tensor<4x3xf32>, tensor<4xi64> -> tensor<f32>
// CHECK-NEXT:   %mean = nn.cross_entropy %x, %t, %w : tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %nll, %each, %sum, %mean : tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<f32>
// CHECK-NEXT: }
