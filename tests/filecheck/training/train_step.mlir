// RUN: gradir-opt %s -p "gradir-train-step{function=f wrt=w,2}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-train-step{function=f optimizer=descend in_place=true into=g}" | filecheck %s --check-prefix=INPLACE
// RUN: gradir-opt %s -p "gradir-train-step{function=f wrt=w,2 optimizer=scaled into=g}" | filecheck %s --check-prefix=SCALED
// RUN: gradir-run %s -p "gradir-train-step{function=f wrt=w,2}" --function f_step --random-inputs 0 | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s -p "gradir-train-step{function=f wrt=w,2}" --function f_step --random-inputs 0 --interpret | filecheck %s --check-prefix=VALUES

// Result 0 is the loss. %n is the count of calls, whose new value is result 1: it is carried from
// step to step, as arguments in the buffer of a result are.
func.func @f(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<2x3xf64> {grad.name = "w"}, %b: tensor<2xf64>, %n: tensor<i64> {grad.in_out = 1 : i64}, %labels: tensor<4xi64>) -> (tensor<f64>, tensor<i64>, tensor<4x2xf64>) {
  %y = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<2x3xf64>, tensor<2xf64> -> tensor<4x2xf64>
  %one = array.full {value = 1} : tensor<i64>
  %n_next = array.add %n, %one : tensor<i64>
  %classes = array.full {value = 2} : tensor<4xi64>
  %t = array.remainder %labels, %classes : tensor<4xi64>
  %loss = nn.cross_entropy %y, %t : tensor<4x2xf64>, tensor<4xi64> -> tensor<f64>
  func.return %loss, %n_next, %y : tensor<f64>, tensor<i64>, tensor<4x2xf64>
}

// An optimizer: parameters, gradients, state.
func.func @update(%w: tensor<2x3xf64>, %b: tensor<2xf64>, %w_grad: tensor<2x3xf64>, %b_grad: tensor<2xf64>, %w_trace: tensor<2x3xf64> {grad.name = "w_trace"}) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>) {
  %half = array.full {value = 0.5} : tensor<2x3xf64>
  %decayed = array.multiply %w_trace, %half : tensor<2x3xf64>
  %w_trace_new = array.add %decayed, %w_grad : tensor<2x3xf64>
  %w_new = array.subtract %w, %w_trace_new : tensor<2x3xf64>
  %b_new = array.subtract %b, %b_grad : tensor<2xf64>
  func.return %w_new, %b_new, %w_trace_new : tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>
}

// One without a state.
func.func @descend(%w: tensor<2x3xf64>, %b: tensor<2xf64>, %w_grad: tensor<2x3xf64>, %b_grad: tensor<2xf64>) -> (tensor<2x3xf64>, tensor<2xf64>) {
  %w_new = array.subtract %w, %w_grad : tensor<2x3xf64>
  %b_new = array.subtract %b, %b_grad : tensor<2xf64>
  func.return %w_new, %b_new : tensor<2x3xf64>, tensor<2xf64>
}

// One of gradients of the loss times a number of its state, in another dtype than the loss.
func.func @scaled(%w: tensor<2x3xf64>, %b: tensor<2xf64>, %w_grad: tensor<2x3xf64>, %b_grad: tensor<2xf64>, %steps: tensor<i64>, %scale: tensor<f32> {grad.loss_scale}) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<i64>, tensor<f32>) {
  %w_new = array.subtract %w, %w_grad : tensor<2x3xf64>
  %b_new = array.subtract %b, %b_grad : tensor<2xf64>
  func.return %w_new, %b_new, %steps, %scale : tensor<2x3xf64>, tensor<2xf64>, tensor<i64>, tensor<f32>
}

//      SCALED: func.func @f_vjp(
//      SCALED: func.func @g(%w: tensor<2x3xf64> {grad.name = "w"}, %b: tensor<2xf64>, %steps: tensor<i64>, %scale: tensor<f32> {grad.loss_scale}, %n: tensor<i64>, %x: tensor<4x3xf64> {grad.inactive}, %labels: tensor<4xi64>) -> ({{.*}}) {
// SCALED-NEXT:   %0 = array.astype %scale : tensor<f32> -> tensor<f64>
// SCALED-NEXT:   %loss, %n_next, %y, %w_ct, %b_ct = func.call @f_vjp(%x, %w, %b, %n, %labels, %0) : {{.*}}
// SCALED-NEXT:   %w_new, %b_new, %steps_1, %scale_1 = func.call @scaled(%w, %b, %w_ct, %b_ct, %steps, %scale) : {{.*}}
// SCALED-NEXT:   func.return %w_new, %b_new, %steps_1, %scale_1, %n_next, %loss, %y : {{.*}}

//      CHECK: func.func @f_grad(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<2x3xf64> {grad.name = "w"}, %b: tensor<2xf64>, %n: tensor<i64> {grad.in_out = 1 : i64}, %labels: tensor<4xi64>) -> (tensor<f64>, tensor<i64>, tensor<4x2xf64>, tensor<2x3xf64>, tensor<2xf64>) {
//      CHECK: func.func @f_step(%w: tensor<2x3xf64> {grad.name = "w"}, %b: tensor<2xf64>, %w_trace: tensor<2x3xf64> {grad.name = "w_trace"}, %n: tensor<i64>, %x: tensor<4x3xf64> {grad.inactive}, %labels: tensor<4xi64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>, tensor<i64>, tensor<f64>, tensor<4x2xf64>) {
// CHECK-NEXT:   %loss, %n_next, %y, %w_ct, %b_ct = func.call @f_grad(%x, %w, %b, %n, %labels) : (tensor<4x3xf64>, tensor<2x3xf64>, tensor<2xf64>, tensor<i64>, tensor<4xi64>) -> (tensor<f64>, tensor<i64>, tensor<4x2xf64>, tensor<2x3xf64>, tensor<2xf64>)
// CHECK-NEXT:   %w_new, %b_new, %w_trace_new = func.call @update(%w, %b, %w_ct, %b_ct, %w_trace) : (tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>)
// CHECK-NEXT:   func.return %w_new, %b_new, %w_trace_new, %n_next, %loss, %y : tensor<2x3xf64>, tensor<2xf64>, tensor<2x3xf64>, tensor<i64>, tensor<f64>, tensor<4x2xf64>
// CHECK-NEXT: }

//      INPLACE: func.func @g(%w: tensor<2x3xf64> {grad.name = "w", grad.in_out = 0 : i64}, %b: tensor<2xf64> {grad.in_out = 1 : i64}, %n: tensor<i64> {grad.in_out = 2 : i64}, %x: tensor<4x3xf64> {grad.inactive}, %labels: tensor<4xi64>) -> (tensor<2x3xf64>, tensor<2xf64>, tensor<i64>, tensor<f64>, tensor<4x2xf64>) {
// INPLACE-NEXT:   %loss, %n_next, %y, %w_ct, %b_ct = func.call @f_grad(%x, %w, %b, %n, %labels)
// INPLACE-NEXT:   %w_new, %b_new = func.call @descend(%w, %b, %w_ct, %b_ct)
// INPLACE-NEXT:   func.return %w_new, %b_new, %n_next, %loss, %y

//      VALUES: result0: float64[2,3]  // %w_new
// VALUES-NEXT: {{\[\[}}-0.503871 -0.562210  1.717043]
// VALUES-NEXT:  [ 0.469142  0.055417  0.448674]]
// VALUES-NEXT: result1: float64[2]  // %b_new
// VALUES-NEXT: [-0.873959 -0.273651]
// VALUES-NEXT: result2: float64[2,3]  // %w_trace_new
// VALUES-NEXT: {{\[\[}} 0.141281  0.146235 -0.762178]
// VALUES-NEXT:  [-1.394644  0.576264  0.337704]]
// VALUES-NEXT: result3: int64[] = 4  // %n_next
// VALUES-NEXT: result4: float64[] = 1.187476  // %loss
