// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f}"

func.func @f(%x: f64) {
  // expected-error @+1 {{grad.host_call: expected ranked tensors, got f64}}
  grad.host_call %x {callee = "f"} : (f64) -> ()
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: exec "started" is for calls that ops of comm become, got @f}}
  %y = grad.host_call %x {callee = "f", exec = "started"} : (tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: exec must be one of sync, async, cross_device, got "later"}}
  %y = grad.host_call %x {callee = "f", exec = "later"} : (tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: a call across devices must have one operand and one result of its type, got 2 and 1}}
  %y = grad.host_call %x, %x {callee = "f", exec = "cross_device"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: deps must be in<k>, out<k> or out_grad<k> of operands and results, got "in1"}}
  %y = grad.host_call %x {callee = "f", deps = ["in0", "in1"]} : (tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: deps must be in<k>, out<k> or out_grad<k> of operands and results, got "x"}}
  %y = grad.host_call %x {callee = "f", deps = ["x"]} : (tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: deps must be given once, got "out0" again}}
  %y = grad.host_call %x {callee = "f", deps = ["out0", "out0"]} : (tensor<4xf64>) -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{grad.host_call: "out_grad0" has no cotangent, its type is tensor<4xi64>}}
  %y = grad.host_call %x {callee = "f", deps = ["out_grad0"]} : (tensor<4xf64>) -> tensor<4xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+2 {{grad.host_call @f: it has no derivative, and its result depends on wrt and reaches a target; give it a backward function, or hand it the result of grad.no_grad}}
  // expected-note @+1 {{reached by %x -> %y}}
  %y = grad.host_call %x {callee = "f"} : (tensor<4xf64>) -> tensor<4xf64>
  func.return %y : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{grad.host_call @print: an op with effects has no derivative, and it reads %x, which depends on wrt; give it a backward function, or hand it the result of grad.no_grad}}
  grad.host_call %x {callee = "print"} : (tensor<4xf64>) -> ()
  func.return %x : tensor<4xf64>
}

// -----

func.func @f(%x: memref<4xf64>) {
  // expected-error @+1 {{loopnest.host_call: unread must be static buffer types by the numbers of results, got 2 = memref<4xf64>}}
  loopnest.host_call "f"(%x : memref<4xf64>) -> (:) message "f" {unread = {"0" = memref<4xf64>, "2" = memref<4xf64>}}
  func.return
}

// -----

func.func @f(%x: memref<4xf64>) {
  // expected-error @+1 {{loopnest.host_call: unread must be static buffer types by the numbers of results, got 0 = memref<?xf64>}}
  loopnest.host_call "f"(%x : memref<4xf64>) -> (:) message "f" {unread = {"0" = memref<?xf64>}}
  func.return
}
