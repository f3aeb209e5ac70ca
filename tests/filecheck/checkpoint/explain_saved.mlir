// RUN: gradir-opt %s -p "gradir-gradient{function=net}" --explain-saved | filecheck %s
// RUN: gradir-opt %s -p "gradir-gradient{function=net policy=keep_matmuls}" --explain-saved | filecheck %s --check-prefix=MATMULS

func.func @net(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %m = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %h = array.tanh %m : tensor<8x4xf32>
  %n = array.matmul %h, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %y = array.sin %n : tensor<8x4xf32>
  %loss = array.sum %y : tensor<8x4xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

//      CHECK: @net: 4 values are kept, 256 bytes of them beside arguments
// CHECK-NEXT: bytes value made read first to recompute
// CHECK-NEXT: 128 %x argument array.permute_dims at 5:3 -
// CHECK-NEXT: 64 %w argument array.permute_dims at 7:3 and 1 more -
// CHECK-NEXT: 128 %h array.tanh at 6:3 array.permute_dims at 7:3 and 1 more 512 flops, 256 bytes
// CHECK-NEXT: 128 %n array.matmul at 7:3 array.cos at 8:3 256 flops, 320 bytes

//      MATMULS: @net: 4 values are kept, 256 bytes of them beside arguments
// MATMULS-NEXT: bytes value made read first to recompute
// MATMULS-NEXT: 128 %x argument array.permute_dims at 5:3 -
// MATMULS-NEXT: 64 %w argument array.permute_dims at 7:3 and 1 more -
// MATMULS-NEXT: 128 %m array.matmul at 5:3 grad.barrier at 7:3 256 flops, 320 bytes
// MATMULS-NEXT: 128 %n array.matmul at 7:3 array.cos at 8:3 256 flops, 320 bytes

// RUN: gradir-opt %s -p "gradir-gradient{function=walk}" --explain-saved | filecheck %s --check-prefix=GROWS

// Of a tape that grows the bytes of a record are known, and no sum.

func.func @walk(%x: tensor<4xf32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = array.exp %x : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %h) -> (tensor<4xf32>) {
    %q = array.sin %a : tensor<4xf32>
    scf.yield %q : tensor<4xf32>
  }
  %loss = array.sum %r : tensor<4xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}

//      GROWS: @walk: 3 values are kept, 16 bytes of them beside arguments and tapes that grow
// GROWS-NEXT: bytes value made read first to recompute
// GROWS-NEXT: 0 %n argument scf.for at 35:3 -
// GROWS-NEXT: 16 %h array.exp at 34:3 array.multiply at 34:3 64 flops, 32 bytes
// GROWS-NEXT: 16 a record %tape scf.for at 35:3 scf.for at 35:3 64000 flops, 32000 bytes
// GROWS-NEXT: scf.for at 35:3: #grad.loop<store_all>
