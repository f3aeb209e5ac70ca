// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad wrt=1 policy=keep_none},gradir-gradient{function=f mode=vjp wrt=w of=0},gradir-gradient{function=f mode=jvp},gradir-gradient{function=f_grad mode=vjp wrt=1 of=1}" | filecheck %s --check-prefix=WAITS
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad wrt=1},gradir-specialize{function=f_grad shapes=2x3,_}" | filecheck %s --check-prefix=FIRST
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad wrt=1},gradir-gradient{function=f_grad mode=vjp wrt=1 of=1},gradir-specialize{function=f_grad_vjp shapes=2x3,_,_}" | filecheck %s --check-prefix=SECOND
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad wrt=1},gradir-specialize{function=step shapes=4x3}" | filecheck %s --check-prefix=STEP
// RUN: gradir-opt %s -p "gradir-gradient{function=inactive}" | filecheck %s --check-prefix=INACTIVE
// RUN: GRADIR_ROUNDTRIP --check-prefix=TEXT

// The mean's divisor is the number of rows, which nobody knows yet.
func.func @f(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}) -> tensor<f64> {
  %h = array.matmul %x, %w : tensor<?x3xf64>, tensor<3xf64> -> tensor<?xf64>
  %a = array.exp %h : tensor<?xf64>
  %loss = array.mean %a : tensor<?xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}

// A derivative may be written in a program, and is made where it stands.
func.func @step(%x: tensor<?x3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %loss, %w_ct = grad.derivative @f(%x, %w) {mode = "grad", wrt = ["w"]} : (tensor<?x3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
  %next = array.subtract %w, %w_ct : tensor<3xf64>
  func.return %next : tensor<3xf64>
}

// What takes no part in the derivative may have any shape.
func.func @inactive(%x: tensor<4xf64>, %n: tensor<?xi64>) -> (tensor<4xf64>, tensor<?xi64>) {
  %y = array.square %x : tensor<4xf64>
  %m = array.add %n, %n : tensor<?xi64>
  func.return %y, %m : tensor<4xf64>, tensor<?xi64>
}

// WAITS: func.func @f_jvp(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %w_tangent: tensor<3xf64>) -> (tensor<f64>, tensor<f64>) {
// WAITS-NEXT:   %loss, %loss_tangent = grad.derivative @f(%x, %w, %w_tangent) {mode = "jvp"} : (tensor<?x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<f64>)
// WAITS-NEXT:   func.return %loss, %loss_tangent : tensor<f64>, tensor<f64>
// WAITS-NEXT: }
// WAITS: func.func @f_vjp(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %loss_ct: tensor<f64>) -> (tensor<f64>, tensor<3xf64>) {
// WAITS-NEXT:   %loss, %w_ct = grad.derivative @f(%x, %w, %loss_ct) {mode = "vjp", wrt = ["w"], of = [0]} : (tensor<?x3xf64>, tensor<3xf64>, tensor<f64>) -> (tensor<f64>, tensor<3xf64>)
// WAITS-NEXT:   func.return %loss, %w_ct : tensor<f64>, tensor<3xf64>
// WAITS-NEXT: }
// WAITS: func.func @f_grad(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<3xf64>) {
// WAITS-NEXT:   %loss, %w_ct = grad.derivative @f(%x, %w) {mode = "grad", wrt = [1], policy = "keep_none"} : (tensor<?x3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
// WAITS-NEXT:   func.return %loss, %w_ct : tensor<f64>, tensor<3xf64>
// WAITS-NEXT: }
// WAITS: func.func @f_grad_vjp(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %w_ct_ct: tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>, tensor<3xf64>) {
// WAITS-NEXT:   %loss, %w_ct, %w_ct_1 = grad.derivative @f_grad(%x, %w, %w_ct_ct) {mode = "vjp", wrt = [1], of = [1]} : (tensor<?x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>, tensor<3xf64>)
// WAITS-NEXT:   func.return %loss, %w_ct, %w_ct_1 : tensor<f64>, tensor<3xf64>, tensor<3xf64>
// WAITS-NEXT: }

// FIRST: func.func @f_grad(%x: tensor<2x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<3xf64>) {
// FIRST-NEXT:   %h = array.matmul %x, %w : tensor<2x3xf64>, tensor<3xf64> -> tensor<2xf64>
// FIRST-NEXT:   %a = array.exp %h : tensor<2xf64>
// FIRST-NEXT:   %loss = array.mean %a : tensor<2xf64> -> tensor<f64>
// FIRST-NEXT:   %loss_ct = array.full {value = 1.0} : tensor<f64>
// FIRST-NEXT:   %0 = array.full {value = 2.0} : tensor<f64>
// FIRST-NEXT:   %1 = array.divide %loss_ct, %0 : tensor<f64>
// FIRST-NEXT:   %2 = array.reshape %1 : tensor<f64> -> tensor<1xf64>
// FIRST-NEXT:   %a_ct = array.broadcast_to %2 : tensor<1xf64> -> tensor<2xf64>
// FIRST-NEXT:   %h_ct = array.multiply %a_ct, %a : tensor<2xf64>
// FIRST-NEXT:   %3 = array.reshape %h_ct : tensor<2xf64> -> tensor<2x1xf64>
// FIRST-NEXT:   %4 = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf64> -> tensor<3x2xf64>
// FIRST-NEXT:   %5 = array.matmul %4, %3 : tensor<3x2xf64>, tensor<2x1xf64> -> tensor<3x1xf64>
// FIRST-NEXT:   %w_ct = array.reshape %5 : tensor<3x1xf64> -> tensor<3xf64>
// FIRST-NEXT:   func.return %loss, %w_ct : tensor<f64>, tensor<3xf64>
// FIRST-NEXT: }

// SECOND: func.func @f_grad_vjp(%x: tensor<2x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}, %w_ct_ct: tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>, tensor<3xf64>) {
// SECOND-NEXT:   %h = array.matmul %x, %w : tensor<2x3xf64>, tensor<3xf64> -> tensor<2xf64>
// SECOND-NEXT:   %a = array.exp %h : tensor<2xf64>
// SECOND-NEXT:   %loss = array.mean %a : tensor<2xf64> -> tensor<f64>
// SECOND-NEXT:   %loss_ct = array.full {value = 1.0} : tensor<f64>
// SECOND-NEXT:   %0 = array.full {value = 2.0} : tensor<f64>
// SECOND-NEXT:   %1 = array.divide %loss_ct, %0 : tensor<f64>
// SECOND-NEXT:   %2 = array.reshape %1 : tensor<f64> -> tensor<1xf64>
// SECOND-NEXT:   %a_ct = array.broadcast_to %2 : tensor<1xf64> -> tensor<2xf64>
// SECOND-NEXT:   %h_ct = array.multiply %a_ct, %a : tensor<2xf64>
// SECOND-NEXT:   %3 = array.reshape %h_ct : tensor<2xf64> -> tensor<2x1xf64>
// SECOND-NEXT:   %4 = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf64> -> tensor<3x2xf64>
// SECOND-NEXT:   %5 = array.matmul %4, %3 : tensor<3x2xf64>, tensor<2x1xf64> -> tensor<3x1xf64>
// SECOND-NEXT:   %w_ct = array.reshape %5 : tensor<3x1xf64> -> tensor<3xf64>
// SECOND-NEXT:   %ct = array.reshape %w_ct_ct : tensor<3xf64> -> tensor<3x1xf64>
// SECOND-NEXT:   %ct_1 = array.matmul %x, %ct : tensor<2x3xf64>, tensor<3x1xf64> -> tensor<2x1xf64>
// SECOND-NEXT:   %h_ct_ct = array.reshape %ct_1 : tensor<2x1xf64> -> tensor<2xf64>
// SECOND-NEXT:   %a_ct_1 = array.multiply %h_ct_ct, %a_ct : tensor<2xf64>
// SECOND-NEXT:   %h_ct_1 = array.multiply %a_ct_1, %a : tensor<2xf64>
// SECOND-NEXT:   %6 = array.reshape %h_ct_1 : tensor<2xf64> -> tensor<2x1xf64>
// SECOND-NEXT:   %7 = array.permute_dims %x {axes = [1, 0]} : tensor<2x3xf64> -> tensor<3x2xf64>
// SECOND-NEXT:   %8 = array.matmul %7, %6 : tensor<3x2xf64>, tensor<2x1xf64> -> tensor<3x1xf64>
// SECOND-NEXT:   %w_ct_1 = array.reshape %8 : tensor<3x1xf64> -> tensor<3xf64>
// SECOND-NEXT:   func.return %loss, %w_ct, %w_ct_1 : tensor<f64>, tensor<3xf64>, tensor<3xf64>
// SECOND-NEXT: }

// STEP: func.func @f_4x3_grad(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<3xf64>) {
// STEP-NEXT:   %h = array.matmul %x, %w : tensor<4x3xf64>, tensor<3xf64> -> tensor<4xf64>
// STEP-NEXT:   %a = array.exp %h : tensor<4xf64>
// STEP-NEXT:   %loss = array.mean %a : tensor<4xf64> -> tensor<f64>
// STEP-NEXT:   %loss_ct = array.full {value = 1.0} : tensor<f64>
// STEP-NEXT:   %0 = array.full {value = 4.0} : tensor<f64>
// STEP-NEXT:   %1 = array.divide %loss_ct, %0 : tensor<f64>
// STEP-NEXT:   %2 = array.reshape %1 : tensor<f64> -> tensor<1xf64>
// STEP-NEXT:   %a_ct = array.broadcast_to %2 : tensor<1xf64> -> tensor<4xf64>
// STEP-NEXT:   %h_ct = array.multiply %a_ct, %a : tensor<4xf64>
// STEP-NEXT:   %3 = array.reshape %h_ct : tensor<4xf64> -> tensor<4x1xf64>
// STEP-NEXT:   %4 = array.permute_dims %x {axes = [1, 0]} : tensor<4x3xf64> -> tensor<3x4xf64>
// STEP-NEXT:   %5 = array.matmul %4, %3 : tensor<3x4xf64>, tensor<4x1xf64> -> tensor<3x1xf64>
// STEP-NEXT:   %w_ct = array.reshape %5 : tensor<3x1xf64> -> tensor<3xf64>
// STEP-NEXT:   func.return %loss, %w_ct : tensor<f64>, tensor<3xf64>
// STEP-NEXT: }
// STEP: func.func @f_grad(%x: tensor<?x3xf64> {grad.inactive}, %w: tensor<3xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<3xf64>) {
// STEP-NEXT:   %loss, %w_ct = grad.derivative @f(%x, %w) {mode = "grad", wrt = [1]} : (tensor<?x3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
// STEP-NEXT:   func.return %loss, %w_ct : tensor<f64>, tensor<3xf64>
// STEP-NEXT: }
// STEP: func.func @step(%x: tensor<4x3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
// STEP-NEXT:   %loss, %w_ct = func.call @f_4x3_grad(%x, %w) : (tensor<4x3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
// STEP-NEXT:   %next = array.subtract %w, %w_ct : tensor<3xf64>
// STEP-NEXT:   func.return %next : tensor<3xf64>
// STEP-NEXT: }

// INACTIVE: func.func @inactive_fwd(%x: tensor<4xf64>, %n: tensor<?xi64>) -> (tensor<4xf64>, tensor<?xi64>, tensor<4xf64>) {
// INACTIVE-NEXT:   %y = array.square %x : tensor<4xf64>
// INACTIVE-NEXT:   %m = array.add %n, %n : tensor<?xi64>
// INACTIVE-NEXT:   func.return %y, %m, %x : tensor<4xf64>, tensor<?xi64>, tensor<4xf64>
// INACTIVE-NEXT: }
// INACTIVE: func.func @inactive_bwd(%x: tensor<4xf64>, %y_ct: tensor<4xf64>) -> tensor<4xf64> {
// INACTIVE-NEXT:   %0 = array.full {value = 2.0} : tensor<4xf64>
// INACTIVE-NEXT:   %1 = array.multiply %0, %x : tensor<4xf64>
// INACTIVE-NEXT:   %x_ct = array.multiply %y_ct, %1 : tensor<4xf64>
// INACTIVE-NEXT:   func.return %x_ct : tensor<4xf64>
// INACTIVE-NEXT: }

// TEXT: %loss, %w_ct = grad.derivative @f(%x, %w) {mode = "grad", wrt = ["w"]} : (tensor<?x3xf64>, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)

// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad wrt=1}" --explain-saved | filecheck %s --check-prefix=LATER
// LATER: a derivative waits for shapes: add gradir-specialize to the pipeline
