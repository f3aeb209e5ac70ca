// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad policy=keep_none}" | filecheck %s --check-prefix=REPLAY
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=grad},gradir-gradient{function=f_grad of=2 mode=vjp}" | filecheck %s --check-prefix=SECOND
// RUN: gradir-opt %s -p "gradir-append-loss{function=net loss=mean joined=1}" | filecheck %s --check-prefix=LOSS
// RUN: gradir-opt %s -p "gradir-train-step{function=f optimizer=descend}" | filecheck %s --check-prefix=STEP

// %m is state, whose new value is result 1: by default neither has a derivative.
func.func @f(%w: tensor<4xf64>, %m: tensor<4xf64> {grad.state = 1 : i64}, %x: tensor<4xf64> {grad.inactive}) -> (tensor<f64>, tensor<4xf64>) {
  %y = grad.start_checkpoint %w : tensor<4xf64>
  %s = array.multiply %y, %x : tensor<4xf64>
  %c = array.subtract %s, %m : tensor<4xf64>
  %next = array.add %m, %s : tensor<4xf64>
  %e = array.exp %c : tensor<4xf64>
  %h = grad.end_checkpoint %e : tensor<4xf64>
  %new = grad.end_checkpoint %next : tensor<4xf64>
  %loss = array.sum %h : tensor<4xf64> -> tensor<f64>
  func.return %loss, %new : tensor<f64>, tensor<4xf64>
}

// One cotangent comes in, that of the loss, and one goes out.
//      CHECK: func.func @f_vjp(%w: tensor<4xf64>, %m: tensor<4xf64> {grad.state = 1 : i64}, %x: tensor<4xf64> {grad.inactive}, %loss_ct: tensor<f64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>) {
//      CHECK: func.return %loss, %new, %w_ct : tensor<f64>, tensor<4xf64>, tensor<4xf64>

// Whatever is computed again, the state is updated once.
//        REPLAY: func.func @f_grad(
//        REPLAY: array.add %m, {{.*}} : tensor<4xf64>
//    REPLAY-NOT: array.add
//        REPLAY: func.return

//      SECOND: func.func @f_grad_vjp(%w: tensor<4xf64>, %m: tensor<4xf64> {grad.state = 1 : i64}, %x: tensor<4xf64> {grad.inactive}, %w_ct_ct: tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {

func.func @net(%m: tensor<4xf64> {grad.state = 0 : i64}, %x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y = array.add %m, %x : tensor<4xf64>
  %h = array.sin %y : tensor<4xf64>
  func.return %y, %h : tensor<4xf64>, tensor<4xf64>
}

func.func @mean(%h: tensor<4xf64>) -> tensor<f64> {
  %loss = array.mean %h : tensor<4xf64> -> tensor<f64>
  func.return %loss : tensor<f64>
}

func.func @descend(%w: tensor<4xf64>, %g: tensor<4xf64>) -> tensor<4xf64> {
  %next = array.subtract %w, %g : tensor<4xf64>
  func.return %next : tensor<4xf64>
}

// A step carries state, and has it as its own.
//      STEP: func.func @f_step(%w: tensor<4xf64>, %m: tensor<4xf64> {grad.state = 1 : i64}, %x: tensor<4xf64> {grad.inactive}) -> (tensor<4xf64>, tensor<4xf64>, tensor<f64>) {

// The loss comes first, so that the state's result has another index.
//      LOSS: func.func @net_loss(%m: tensor<4xf64> {grad.state = 1 : i64}, %x: tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>) {
