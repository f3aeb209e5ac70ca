// RUN: gradir-opt %s -p 'gradir-train-step{function=loss wrt=w,b},gradir-data-parallel{function=loss_step shards=x,y ranks=2 deterministic=8 keys=key group=rows into=rank_step}' | filecheck %s

// Eight shards, four on each rank: partial sums of neighbours go to the call for the last one.
func.func @loss(%w: tensor<3xf32> {grad.name = "w"}, %b: tensor<f32> {grad.name = "b"}, %x: tensor<4x3xf32> {grad.name = "x"}, %y: tensor<4xf32> {grad.name = "y"}, %key: tensor<i64> {grad.name = "key"}) -> tensor<f32> {
  %counter = array.full {value = 0} : tensor<i64>
  %noise = array.normal %key, %counter : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  %moved = array.add %x, %noise : tensor<4x3xf32>
  %h = array.matmul %moved, %w : tensor<4x3xf32>, tensor<3xf32> -> tensor<4xf32>
  %line = array.broadcast_to %b : tensor<f32> -> tensor<4xf32>
  %z = array.add %h, %line : tensor<4xf32>
  %d = array.subtract %z, %y : tensor<4xf32>
  %square = array.multiply %d, %d : tensor<4xf32>
  %mean = array.mean %square : tensor<4xf32> -> tensor<f32>
  func.return %mean : tensor<f32>
}
func.func @update(%w: tensor<3xf32>, %b: tensor<f32>, %w_ct: tensor<3xf32>, %b_ct: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  %w1 = array.subtract %w, %w_ct : tensor<3xf32>
  %b1 = array.subtract %b, %b_ct : tensor<f32>
  func.return %w1, %b1 : tensor<3xf32>, tensor<f32>
}

//      CHECK: func.func @rank_step(%w: tensor<3xf32> {grad.name = "w"}, %b: tensor<f32> {grad.name = "b"}, %x: tensor<16x3xf32> {grad.name = "x"}, %y: tensor<16xf32> {grad.name = "y"}, %key: tensor<i64> {grad.name = "key"}) -> (tensor<3xf32>, tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   %0 = array.slice %x {start = [0, 0], stop = [4, 3]} : tensor<16x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %1 = array.slice %x {start = [4, 0], stop = [8, 3]} : tensor<16x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %2 = array.slice %x {start = [8, 0], stop = [12, 3]} : tensor<16x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %3 = array.slice %x {start = [12, 0], stop = [16, 3]} : tensor<16x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %4 = array.slice %y {start = [0], stop = [4]} : tensor<16xf32> -> tensor<4xf32>
// CHECK-NEXT:   %5 = array.slice %y {start = [4], stop = [8]} : tensor<16xf32> -> tensor<4xf32>
// CHECK-NEXT:   %6 = array.slice %y {start = [8], stop = [12]} : tensor<16xf32> -> tensor<4xf32>
// CHECK-NEXT:   %7 = array.slice %y {start = [12], stop = [16]} : tensor<16xf32> -> tensor<4xf32>
// CHECK-NEXT:   %8 = comm.rank {group = "rows"} : tensor<i64>
// CHECK-NEXT:   %9 = array.full {value = 8709371129873690708} : tensor<i64>
// CHECK-NEXT:   %10 = array.multiply %8, %9 : tensor<i64>
// CHECK-NEXT:   %11 = array.add %key, %10 : tensor<i64>
// CHECK-NEXT:   %12 = array.full {value = 2177342782468422677} : tensor<i64>
// CHECK-NEXT:   %13 = array.add %11, %12 : tensor<i64>
// CHECK-NEXT:   %14 = array.full {value = 4354685564936845354} : tensor<i64>
// CHECK-NEXT:   %15 = array.add %11, %14 : tensor<i64>
// CHECK-NEXT:   %16 = array.full {value = 6532028347405268031} : tensor<i64>
// CHECK-NEXT:   %17 = array.add %11, %16 : tensor<i64>
// CHECK-NEXT:   %18, %19, %20 = func.call @loss_grad(%w, %b, %0, %4, %11) : (tensor<3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %21, %22, %23 = func.call @loss_grad(%w, %b, %1, %5, %13) : (tensor<3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %24 = array.add %18, %21 : tensor<f32>
// CHECK-NEXT:   %25 = array.add %19, %22 : tensor<3xf32>
// CHECK-NEXT:   %26 = array.add %20, %23 : tensor<f32>
// CHECK-NEXT:   %27, %28, %29 = func.call @loss_grad(%w, %b, %2, %6, %15) : (tensor<3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %mean, %w_ct, %b_ct = func.call @loss_grad_parallel(%w, %b, %3, %7, %17, %24, %27, %25, %28, %26, %29) : (tensor<3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %w1, %b1 = func.call @update(%w, %b, %w_ct, %b_ct) : (tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   func.return %w1, %b1, %mean : tensor<3xf32>, tensor<f32>, tensor<f32>
// CHECK-NEXT: }
