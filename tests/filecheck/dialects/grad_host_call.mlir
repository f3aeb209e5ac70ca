// RUN: gradir-opt %s | filecheck %s
// RUN: gradir-opt %s --print-op-generic | gradir-opt | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=f mode=vjp}" | filecheck %s --check-prefix=VJP
// RUN: gradir-opt %s -p "cse,gradir-dce,gradir-lower,gradir-bufferize" | filecheck %s --check-prefix=BUFFERS

func.func @f(%x: tensor<4xf64>, %n: tensor<i64>) -> tensor<4xf64> {
  %y, %m = grad.host_call %x, %n {callee = "f", exec = "async", pure, deps = ["out_grad0", "out1"], backward = "g"} : (tensor<4xf64>, tensor<i64>) -> (tensor<4xf64>, tensor<i64>)
  %z = grad.host_call %y {callee = "h", backward = "k"} : (tensor<4xf64>) -> tensor<4xf64>
  grad.host_call %m {callee = "note"} : (tensor<i64>) -> ()
  func.return %z : tensor<4xf64>
}

// Results that nobody reads have no buffer.
func.func @g(%ct: tensor<4xf64>) -> tensor<4xf64> {
  %a, %b = grad.host_call %ct {callee = "g", of = (f64, i64, f64) -> f64} : (tensor<4xf64>) -> (tensor<4xf64>, tensor<2xf64>)
  func.return %a : tensor<4xf64>
}

//      CHECK: func.func @f(%x: tensor<4xf64>, %n: tensor<i64>) -> tensor<4xf64> {
// CHECK-NEXT:   %y, %m = grad.host_call %x, %n {callee = "f", exec = "async", pure, deps = ["out_grad0", "out1"], backward = "g"} : (tensor<4xf64>, tensor<i64>) -> (tensor<4xf64>, tensor<i64>)
// CHECK-NEXT:   %z = grad.host_call %y {callee = "h", backward = "k"} : (tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:   grad.host_call %m {callee = "note"} : (tensor<i64>) -> ()
// CHECK-NEXT:   func.return %z : tensor<4xf64>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @g(%ct: tensor<4xf64>) -> tensor<4xf64> {
// CHECK-NEXT:   %a, %b = grad.host_call %ct {callee = "g", of = (f64, i64, f64) -> f64} : (tensor<4xf64>) -> (tensor<4xf64>, tensor<2xf64>)

//      VJP: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<i64>, %z_ct: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
// VJP-NEXT:   %y, %m = grad.host_call %x, %n {callee = "f", exec = "async", pure, deps = ["out_grad0", "out1"], backward = "g"} : (tensor<4xf64>, tensor<i64>) -> (tensor<4xf64>, tensor<i64>)
// VJP-NEXT:   %z = grad.host_call %y {callee = "h", backward = "k"} : (tensor<4xf64>) -> tensor<4xf64>
// VJP-NEXT:   grad.host_call %m {callee = "note"} : (tensor<i64>) -> ()
// VJP-NEXT:   %y_ct = grad.host_call %z_ct, %y, %z {callee = "k"} : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// VJP-NEXT:   %x_ct = grad.host_call %y_ct, %m {callee = "g", exec = "async", pure} : (tensor<4xf64>, tensor<i64>) -> tensor<4xf64>
// VJP-NEXT:   func.return %z, %x_ct : tensor<4xf64>, tensor<4xf64>
// VJP-NEXT: }

//      BUFFERS: func.func @f(%x: memref<4xf64>, %n: memref<i64>, %result0: memref<4xf64>) attributes {gradir.inputs = 2 : i64, gradir.results = 1 : i64} {
// BUFFERS-NEXT:   %y = memref.alloc() : memref<4xf64>
// BUFFERS-NEXT:   %m = memref.alloc() : memref<i64>
// BUFFERS-NEXT:   loopnest.host_call "f"(%x, %n : memref<4xf64>, memref<i64>) -> (%y, %m : memref<4xf64>, memref<i64>) message "{{.*}}grad_host_call.mlir:7:3: grad.host_call @f"
// BUFFERS-NEXT:   loopnest.host_call "h"(%y : memref<4xf64>) -> (%result0 : memref<4xf64>) message "{{.*}}grad_host_call.mlir:8:3: grad.host_call @h"
// BUFFERS-NEXT:   loopnest.host_call "note"(%m : memref<i64>) -> (:) message "{{.*}}grad_host_call.mlir:9:3: grad.host_call @note"
// BUFFERS-NEXT:   func.return
// BUFFERS-NEXT: }
//      BUFFERS:   loopnest.host_call "g"(%ct : memref<4xf64>) -> (%result0 : memref<4xf64>) message "{{.*}}grad_host_call.mlir:15:3: grad.host_call @g" {of = (f64, i64, f64) -> f64, unread = {"1" = memref<2xf64>}}
