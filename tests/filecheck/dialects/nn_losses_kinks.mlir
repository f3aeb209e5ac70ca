// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=l1,huber,smooth,target,zeros,truths mode=grad}" --function f_grad | filecheck %s
// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=l1,huber,smooth,target,zeros,truths mode=grad}" --function f_grad --interpret | filecheck %s

// Derivatives at kinks, of kl_div where a target is 0, and of bce_loss where logarithms are limited.
func.func @f() -> tensor<f32> {
  %points = array.constant {value = dense<[-0.5, 0.0, 0.5, 2.0]> : tensor<4xf32>} : tensor<4xf32>
  %probs = array.constant {value = dense<[0.0, 1.0, 0.0, 1.0]> : tensor<4xf32>} : tensor<4xf32>
  %labels = array.constant {value = dense<[0.0, 1.0, 1.0, 0.0]> : tensor<4xf32>} : tensor<4xf32>
  %zero = array.full {value = 0.0} : tensor<4xf32>
  %l1 = grad.name %points {name = "l1"} : tensor<4xf32>
  %l1_y = nn.l1_loss %l1, %zero {reduction = "sum"} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %huber = grad.name %points {name = "huber"} : tensor<4xf32>
  %huber_y = nn.huber_loss %huber, %zero {reduction = "sum", delta = 0.5} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %smooth = grad.name %points {name = "smooth"} : tensor<4xf32>
  %smooth_y = nn.smooth_l1_loss %smooth, %zero {reduction = "sum", beta = 0.0} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %target = grad.name %probs {name = "target"} : tensor<4xf32>
  %target_y = nn.kl_div %zero, %target {reduction = "sum"} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %zeros = grad.name %probs {name = "zeros"} : tensor<4xf32>
  %truths = grad.name %labels {name = "truths"} : tensor<4xf32>
  %bce_y = nn.bce_loss %zeros, %truths {reduction = "sum"} : tensor<4xf32>, tensor<4xf32> -> tensor<f32>
  %all = grad.accumulate %l1_y, %huber_y, %smooth_y, %target_y, %bce_y : tensor<f32>
  func.return %all : tensor<f32>
}

//      CHECK: result0: float32[] = 207.125000  // %all
// CHECK-NEXT: result1: float32[4]  // %l1_ct
// CHECK-NEXT: [-1.000000  0.000000  1.000000  1.000000]
// CHECK-NEXT: result2: float32[4]  // %huber_ct
// CHECK-NEXT: [-0.500000  0.000000  0.500000  0.500000]
// CHECK-NEXT: result3: float32[4]  // %smooth_ct
// CHECK-NEXT: [-1.000000  0.000000  1.000000  1.000000]
// CHECK-NEXT: result4: float32[4]  // %target_ct
// CHECK-NEXT: [0.000000 1.000000 0.000000 1.000000]
// CHECK-NEXT: result5: float32[4]  // %zeros_ct
// CHECK-NEXT: [ 0.000000e+00  0.000000e+00 -1.000000e+12  1.000000e+12]
// CHECK-NEXT: result6: float32[4]  // %truths_ct
// CHECK-NEXT: [ 100.000000 -100.000000  100.000000 -100.000000]
