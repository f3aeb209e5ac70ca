// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=leaky,elu,celu,selu,tanh,sigmoid,swish,prelu,weight mode=grad}" --function f_grad | filecheck %s
// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=leaky,elu,celu,selu,tanh,sigmoid,swish,prelu,weight mode=grad}" --function f_grad --interpret | filecheck %s

// Derivatives at kinks are PyTorch's: of what lies below 0 at 0, and zero where a limit is reached.
func.func @f() -> tensor<f32> {
  %points = array.constant {value = dense<[-3.0, -1.0, 0.0, 3.0]> : tensor<4xf32>} : tensor<4xf32>
  %quarter = array.full {value = 0.25} : tensor<1xf32>
  %leaky = grad.name %points {name = "leaky"} : tensor<4xf32>
  %leaky_y = nn.leaky_relu %leaky {slope = 0.25} : tensor<4xf32>
  %elu = grad.name %points {name = "elu"} : tensor<4xf32>
  %elu_y = nn.elu %elu {alpha = 0.5} : tensor<4xf32>
  %celu = grad.name %points {name = "celu"} : tensor<4xf32>
  %celu_y = nn.celu %celu {alpha = 0.5} : tensor<4xf32>
  %selu = grad.name %points {name = "selu"} : tensor<4xf32>
  %selu_y = nn.selu %selu : tensor<4xf32>
  %tanh = grad.name %points {name = "tanh"} : tensor<4xf32>
  %tanh_y = nn.hardtanh %tanh : tensor<4xf32>
  %sigmoid = grad.name %points {name = "sigmoid"} : tensor<4xf32>
  %sigmoid_y = nn.hardsigmoid %sigmoid : tensor<4xf32>
  %swish = grad.name %points {name = "swish"} : tensor<4xf32>
  %swish_y = nn.hardswish %swish : tensor<4xf32>
  %prelu = grad.name %points {name = "prelu"} : tensor<4xf32>
  %weight = grad.name %quarter {name = "weight"} : tensor<1xf32>
  %prelu_y = nn.prelu %prelu, %weight : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
  %all = grad.accumulate %leaky_y, %elu_y, %celu_y, %selu_y, %tanh_y, %sigmoid_y, %swish_y, %prelu_y : tensor<4xf32>
  %sum = array.sum %all : tensor<4xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}

//      CHECK: result0: float32[] = 12.147943  // %sum
// CHECK-NEXT: result1: float32[4]  // %leaky_ct
// CHECK-NEXT: [0.250000 0.250000 0.250000 1.000000]
// CHECK-NEXT: result2: float32[4]  // %elu_ct
// CHECK-NEXT: [0.024894 0.183940 0.500000 1.000000]
// CHECK-NEXT: result3: float32[4]  // %celu_ct
// CHECK-NEXT: [0.002479 0.135335 1.000000 1.000000]
// CHECK-NEXT: result4: float32[4]  // %selu_ct
// CHECK-NEXT: [0.087531 0.646769 1.758099 1.050701]
// CHECK-NEXT: result5: float32[4]  // %tanh_ct
// CHECK-NEXT: [0.000000 0.000000 1.000000 0.000000]
// CHECK-NEXT: result6: float32[4]  // %sigmoid_ct
// CHECK-NEXT: [0.000000 0.166667 0.166667 0.000000]
// CHECK-NEXT: result7: float32[4]  // %swish_ct
// CHECK-NEXT: [0.000000 0.166667 0.500000 1.000000]
// CHECK-NEXT: result8: float32[4]  // %prelu_ct
// CHECK-NEXT: [0.250000 0.250000 0.250000 1.000000]
// CHECK-NEXT: result9: float32[1] = -4.000000  // %weight_ct
