// RUN: gradir-opt %s -p "gradir-plan-memory" | filecheck %s

// Buffers that are alive together do not overlap; the largest come first, each as low as it can.
// %a, %b and %c are 4096, 2048 and 1024 bytes: %c takes the place of %a, which has died.
func.func @f(%x: memref<1024xf32>, %y: memref<256xf32>) {
  %a = memref.alloc() : memref<1024xf32>
  %b = memref.alloc() : memref<512xf32>
  %c = memref.alloc() : memref<256xf32>
  loopnest.nest [1024] (%0 = %x[d0] : memref<1024xf32>) -> ([d0] to %a : memref<1024xf32>) {
    loopnest.yield %0 : f32
  }
  loopnest.nest [512] (%1 = %a[d0] : memref<1024xf32>) -> ([d0] to %b : memref<512xf32>) {
    loopnest.yield %1 : f32
  }
  // A buffer that is seen under another shape lives as long as its view.
  %v = loopnest.reshape %b : memref<512xf32> -> memref<256x2xf32>
  loopnest.nest [256] (%2 = %v[d0, 0] : memref<256x2xf32>) -> ([d0] to %c : memref<256xf32>) {
    loopnest.yield %2 : f32
  }
  loopnest.nest [256] (%3 = %c[d0] : memref<256xf32>, %4 = %v[d0, 1] : memref<256x2xf32>) -> ([d0] to %y : memref<256xf32>) {
    %5 = arith.addf %3, %4 : f32
    loopnest.yield %5 : f32
  }
  func.return
}
// Offsets are multiples of 64 bytes; a function without buffers needs no arena.
func.func @small(%x: memref<3xf32>, %y: memref<3xf32>) {
  %a = memref.alloc() : memref<3xf32>
  %b = memref.alloc() : memref<3xf32>
  loopnest.nest [3] (%0 = %x[d0] : memref<3xf32>) -> ([d0] to %a : memref<3xf32>, [d0] to %b : memref<3xf32>) {
    loopnest.yield %0, %0 : f32, f32
  }
  loopnest.nest [3] (%1 = %a[d0] : memref<3xf32>, %2 = %b[d0] : memref<3xf32>) -> ([d0] to %y : memref<3xf32>) {
    %3 = arith.mulf %1, %2 : f32
    loopnest.yield %3 : f32
  }
  func.return
}
func.func @nothing() {
  func.return
}

//      CHECK: func.func @f(%arena: memref<6144xi8>, %x: memref<1024xf32>, %y: memref<256xf32>) attributes {gradir.arena = 6144 : i64} {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %a = memref.view %arena[%0][] : memref<6144xi8> to memref<1024xf32>
// CHECK-NEXT:   %1 = arith.constant 4096 : index
// CHECK-NEXT:   %b = memref.view %arena[%1][] : memref<6144xi8> to memref<512xf32>
// CHECK-NEXT:   %2 = arith.constant 0 : index
// CHECK-NEXT:   %c = memref.view %arena[%2][] : memref<6144xi8> to memref<256xf32>
// CHECK-NEXT:   loopnest.nest [1024] (%3 = %x[d0] : memref<1024xf32>) -> ([d0] to %a : memref<1024xf32>) {
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [512] (%3 = %a[d0] : memref<1024xf32>) -> ([d0] to %b : memref<512xf32>) {
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   %v = loopnest.reshape %b : memref<512xf32> -> memref<256x2xf32>
// CHECK-NEXT:   loopnest.nest [256] (%3 = %v[d0, 0] : memref<256x2xf32>) -> ([d0] to %c : memref<256xf32>) {
// CHECK-NEXT:     loopnest.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [256] (%3 = %c[d0] : memref<256xf32>, %4 = %v[d0, 1] : memref<256x2xf32>) -> ([d0] to %y : memref<256xf32>) {
// CHECK-NEXT:     %5 = arith.addf %3, %4 : f32
// CHECK-NEXT:     loopnest.yield %5 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @small(%arena: memref<76xi8>, %x: memref<3xf32>, %y: memref<3xf32>) attributes {gradir.arena = 76 : i64} {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %a = memref.view %arena[%0][] : memref<76xi8> to memref<3xf32>
// CHECK-NEXT:   %1 = arith.constant 64 : index
// CHECK-NEXT:   %b = memref.view %arena[%1][] : memref<76xi8> to memref<3xf32>
// CHECK-NEXT:   loopnest.nest [3] (%2 = %x[d0] : memref<3xf32>) -> ([d0] to %a : memref<3xf32>, [d0] to %b : memref<3xf32>) {
// CHECK-NEXT:     loopnest.yield %2, %2 : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   loopnest.nest [3] (%2 = %a[d0] : memref<3xf32>, %3 = %b[d0] : memref<3xf32>) -> ([d0] to %y : memref<3xf32>) {
// CHECK-NEXT:     %4 = arith.mulf %2, %3 : f32
// CHECK-NEXT:     loopnest.yield %4 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
//      CHECK: func.func @nothing(%arena: memref<0xi8>) attributes {gradir.arena = 0 : i64} {
// CHECK-NEXT:   func.return
// CHECK-NEXT: }
