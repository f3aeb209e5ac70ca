// RUN: gradir-opt %s -p "gradir-outline-checkpoints" | filecheck %s

// What is computed from a start is in the stage; what it reads besides stays outside, before it.
func.func @stage(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  %v = array.cos %w : tensor<4xf32>
  %c = array.multiply %b, %v : tensor<4xf32>
  %y = grad.end_checkpoint %c : tensor<4xf32>
  %z = array.exp %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
// Two inputs that meet make one stage; a value that is ended may be used inside too.
func.func @joined(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  %c = grad.start_checkpoint %y : tensor<4xf32>
  %d = array.cos %c : tensor<4xf32>
  %e = array.add %b, %d : tensor<4xf32>
  %f = grad.end_checkpoint %e : tensor<4xf32>
  %g = array.exp %e : tensor<4xf32>
  %h = grad.end_checkpoint %g : tensor<4xf32>
  %i = array.multiply %f, %h : tensor<4xf32>
  func.return %i : tensor<4xf32>
}
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %a = array.sin %s : tensor<4xf32>
  %t = grad.start_checkpoint %a : tensor<4xf32>
  %b = array.cos %t : tensor<4xf32>
  %c = grad.end_checkpoint %b : tensor<4xf32>
  %d = array.multiply %c, %a : tensor<4xf32>
  %y = grad.end_checkpoint %d : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// A stage is run before what reads its outputs, though some of its ops were written later.
func.func @reordered(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %a = array.sin %s : tensor<4xf32>
  %b = grad.end_checkpoint %a : tensor<4xf32>
  %c = array.exp %b : tensor<4xf32>
  %d = array.cos %s : tensor<4xf32>
  %e = grad.end_checkpoint %d : tensor<4xf32>
  func.return %c, %e : tensor<4xf32>, tensor<4xf32>
}
// The end of one stage may be the start of the next; a stage may be empty; a value may end twice.
func.func @consecutive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %a = array.sin %s : tensor<4xf32>
  %b = grad.end_checkpoint %a : tensor<4xf32>
  %t = grad.start_checkpoint %b : tensor<4xf32>
  %c = array.cos %t : tensor<4xf32>
  %d = grad.end_checkpoint %c : tensor<4xf32>
  %e = grad.end_checkpoint %c : tensor<4xf32>
  %u = grad.start_checkpoint %d : tensor<4xf32>
  %f = grad.end_checkpoint %u : tensor<4xf32>
  %y = array.add %e, %f : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

//      CHECK: func.func @stage(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %v = array.cos %w : tensor<4xf32>
// CHECK-NEXT:   %y = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %b = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     %c = array.multiply %b, %v : tensor<4xf32>
// CHECK-NEXT:     grad.yield %c : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %z = array.exp %y : tensor<4xf32>
// CHECK-NEXT:   func.return %z : tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @joined(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %f, %h = grad.checkpoint -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %b = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     %d = array.cos %y : tensor<4xf32>
// CHECK-NEXT:     %e = array.add %b, %d : tensor<4xf32>
// CHECK-NEXT:     %g = array.exp %e : tensor<4xf32>
// CHECK-NEXT:     grad.yield %e, %g : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %i = array.multiply %f, %h : tensor<4xf32>
// CHECK-NEXT:   func.return %i : tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %y = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     %c = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:       %b = array.cos %a : tensor<4xf32>
// CHECK-NEXT:       grad.yield %b : tensor<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %d = array.multiply %c, %a : tensor<4xf32>
// CHECK-NEXT:     grad.yield %d : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @reordered(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %b, %e = grad.checkpoint -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     %d = array.cos %x : tensor<4xf32>
// CHECK-NEXT:     grad.yield %a, %d : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %c = array.exp %b : tensor<4xf32>
// CHECK-NEXT:   func.return %c, %e : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: }

//      CHECK: func.func @consecutive(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   %b = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %a = array.sin %x : tensor<4xf32>
// CHECK-NEXT:     grad.yield %a : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %d = grad.checkpoint -> (tensor<4xf32>) {
// CHECK-NEXT:     %c = array.cos %b : tensor<4xf32>
// CHECK-NEXT:     grad.yield %c : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = array.add %d, %d : tensor<4xf32>
// CHECK-NEXT:   func.return %y : tensor<4xf32>
// CHECK-NEXT: }
