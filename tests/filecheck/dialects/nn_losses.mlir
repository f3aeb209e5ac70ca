// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @differences(%x: tensor<2x3xf32>, %t: tensor<2x3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>) {
  %mse_loss = nn.mse_loss %x, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
  %l1_loss = nn.l1_loss %x, %t {reduction = "sum"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
  %huber_loss = nn.huber_loss %x, %t {delta = 0.5} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
  %smooth_l1_loss = nn.smooth_l1_loss %x, %t {beta = 0.0, reduction = "none"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %mse_loss, %l1_loss, %huber_loss, %smooth_l1_loss : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>
}
func.func @likelihoods(%x: tensor<2x3xf32>, %t: tensor<2x3xf32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<f32>) {
  %bce_loss = nn.bce_loss %x, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
  %bce_with_logits = nn.bce_with_logits %x, %t {reduction = "none"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %kl_div = nn.kl_div %x, %t {reduction = "sum"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
  func.return %bce_loss, %bce_with_logits, %kl_div : tensor<f32>, tensor<2x3xf32>, tensor<f32>
}

//      CHECK: func.func @differences(%x: tensor<2x3xf32>, %t: tensor<2x3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %mse_loss = nn.mse_loss %x, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:   %l1_loss = nn.l1_loss %x, %t {reduction = "sum"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:   %huber_loss = nn.huber_loss %x, %t {delta = 0.5} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:   %smooth_l1_loss = nn.smooth_l1_loss %x, %t {beta = 0.0, reduction = "none"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   func.return %mse_loss, %l1_loss, %huber_loss, %smooth_l1_loss : tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @likelihoods(%x: tensor<2x3xf32>, %t: tensor<2x3xf32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<f32>) {
// CHECK-NEXT:   %bce_loss = nn.bce_loss %x, %t : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:   %bce_with_logits = nn.bce_with_logits %x, %t {reduction = "none"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:   %kl_div = nn.kl_div %x, %t {reduction = "sum"} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT:   func.return %bce_loss, %bce_with_logits, %kl_div : tensor<f32>, tensor<2x3xf32>, tensor<f32>
// CHECK-NEXT: }
