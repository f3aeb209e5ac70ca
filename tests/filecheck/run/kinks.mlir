// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=r,a,m,s mode=grad}" --function f_grad | filecheck %s
// RUN: gradir-run %s -p "gradir-gradient{function=f wrt=r,a,m,s mode=grad}" --function f_grad --interpret | filecheck %s

// At kinks: relu'(0) = abs'(0) = 0; ties of maximum are halved, ties of a max reduction split evenly.
func.func @f() -> tensor<f32> {
  %points = array.constant {value = dense<[-1.0, 0.0, 2.0, 2.0]> : tensor<4xf32>} : tensor<4xf32>
  %others = array.constant {value = dense<[0.0, 0.0, 2.0, 3.0]> : tensor<4xf32>} : tensor<4xf32>
  %r = grad.name %points {name = "r"} : tensor<4xf32>
  %relu = nn.relu %r : tensor<4xf32>
  %a = grad.name %points {name = "a"} : tensor<4xf32>
  %abs = array.abs %a : tensor<4xf32>
  %m = grad.name %points {name = "m"} : tensor<4xf32>
  %maximum = array.maximum %m, %others : tensor<4xf32>
  %s = grad.name %points {name = "s"} : tensor<4xf32>
  %max = array.max %s {keepdims = true} : tensor<4xf32> -> tensor<1xf32>
  %spread = array.broadcast_to %max : tensor<1xf32> -> tensor<4xf32>
  %all = grad.accumulate %relu, %abs, %maximum, %spread : tensor<4xf32>
  %sum = array.sum %all : tensor<4xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}

//      CHECK: result0: float32[] = 22.000000  // %sum
// CHECK-NEXT: result1: float32[4]  // %r_ct
// CHECK-NEXT: [0.000000 0.000000 1.000000 1.000000]
// CHECK-NEXT: result2: float32[4]  // %a_ct
// CHECK-NEXT: [-1.000000  0.000000  1.000000  1.000000]
// CHECK-NEXT: result3: float32[4]  // %m_ct
// CHECK-NEXT: [0.000000 0.500000 0.500000 0.000000]
// CHECK-NEXT: result4: float32[4]  // %s_ct
// CHECK-NEXT: [0.000000 0.000000 2.000000 2.000000]
