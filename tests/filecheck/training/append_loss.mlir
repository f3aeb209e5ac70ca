// RUN: gradir-opt %s -p "gradir-append-loss{function=f loss=l}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-append-loss{function=f loss=both joined=2,0 into=g}" | filecheck %s --check-prefix=BOTH
// RUN: gradir-run %s -p "gradir-append-loss{function=f loss=l}" --function f_loss --random-inputs 0 | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s -p "gradir-append-loss{function=f loss=l},gradir-gradient{function=f_loss wrt=w mode=grad}" --function f_loss_grad --random-inputs 0 | filecheck %s --check-prefix=GRAD

// The arguments of @f, with their attributes, then those of the loss that are not joined. The
// results of the loss, then those of @f that are not joined: %m lies in the buffer of one of them.
func.func @f(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %m: tensor<f64> {grad.inactive, grad.in_out = 1 : i64}) -> (tensor<4xf64>, tensor<f64>, tensor<f64>) {
  %y = array.matmul %x, %w : tensor<4x3xf64>, tensor<3xf64> -> tensor<4xf64>
  %highest = array.max %y : tensor<4xf64> -> tensor<f64>
  %next = array.maximum %highest, %m : tensor<f64>
  %size = array.sum %w : tensor<3xf64> -> tensor<f64>
  func.return %y, %next, %size : tensor<4xf64>, tensor<f64>, tensor<f64>
}
func.func @l(%y: tensor<4xf64> {grad.name = "y"}, %t: tensor<4xf64> {grad.inactive, grad.name = "t"}) -> (tensor<f64>, tensor<4xf64>) {
  %error = array.subtract %y, %t : tensor<4xf64>
  %loss = nn.mse_loss %y, %t : tensor<4xf64>, tensor<4xf64> -> tensor<f64>
  func.return %loss, %error : tensor<f64>, tensor<4xf64>
}
func.func @both(%size: tensor<f64>, %y: tensor<4xf64>) -> tensor<f64> {
  %mean = array.mean %y : tensor<4xf64> -> tensor<f64>
  %sum = array.add %mean, %size : tensor<f64>
  func.return %sum : tensor<f64>
}

//      CHECK: func.func @f_loss(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %m: tensor<f64> {grad.inactive, grad.in_out = 2 : i64}, %t: tensor<4xf64> {grad.inactive, grad.name = "t"}) -> (tensor<f64>, tensor<4xf64>, tensor<f64>, tensor<f64>) {
// CHECK-NEXT:   %y, %next, %size = func.call @f(%x, %w, %m) : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<4xf64>, tensor<f64>, tensor<f64>)
// CHECK-NEXT:   %loss, %error = func.call @l(%y, %t) : (tensor<4xf64>, tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>)
// CHECK-NEXT:   func.return %loss, %error, %next, %size : tensor<f64>, tensor<4xf64>, tensor<f64>, tensor<f64>
// CHECK-NEXT: }

//      BOTH: func.func @g(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %m: tensor<f64> {grad.inactive, grad.in_out = 1 : i64}) -> (tensor<f64>, tensor<f64>) {
// BOTH-NEXT:   %y, %next, %size = func.call @f(%x, %w, %m) : (tensor<4x3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<4xf64>, tensor<f64>, tensor<f64>)
// BOTH-NEXT:   %sum = func.call @both(%size, %y) : (tensor<f64>, tensor<4xf64>) -> tensor<f64>
// BOTH-NEXT:   func.return %sum, %next : tensor<f64>, tensor<f64>
// BOTH-NEXT: }

//      VALUES: result0: float64[] = 1.383191  // %loss
// VALUES-NEXT: result1: float64[4]  // %error
// VALUES-NEXT: [ 0.127183 -0.178409 -1.686395  1.625064]
// VALUES-NEXT: result2: float64[] = 0.504863  // %next
// VALUES-NEXT: result3: float64[] = -1.107587  // %size

//      GRAD: result0: float64[] = 1.383191  // %loss
//      GRAD: result4: float64[3]  // %w_ct
// GRAD-NEXT: [-0.186593 -0.279715  0.815716]
