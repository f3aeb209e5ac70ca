// RUN: gradir-opt %s -p 'gradir-train-step{function=loss wrt=w,b},gradir-data-parallel{function=loss_step shards=x,y ranks=2 keys=key bucket_bytes=8}' | filecheck %s

// Gradients are averaged behind the code that makes the last one of a bucket; a rank has its own keys.
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

//      CHECK: func.func @loss_grad_parallel(%w: tensor<3xf32> {grad.name = "w"}, %b: tensor<f32> {grad.name = "b"}, %x: tensor<4x3xf32> {grad.name = "x"}, %y: tensor<4xf32> {grad.name = "y"}, %key: tensor<i64> {grad.name = "key"}) -> (tensor<f32>, tensor<3xf32>, tensor<f32>) {
// CHECK-NEXT:   %counter = array.full {value = 0} : tensor<i64>
// CHECK-NEXT:   %noise = array.normal %key, %counter : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
// CHECK-NEXT:   %moved = array.add %x, %noise : tensor<4x3xf32>
// CHECK-NEXT:   %h = array.matmul %moved, %w : tensor<4x3xf32>, tensor<3xf32> -> tensor<4xf32>
// CHECK-NEXT:   %line = array.broadcast_to %b : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:   %z = array.add %h, %line : tensor<4xf32>
// CHECK-NEXT:   %d = array.subtract %z, %y : tensor<4xf32>
// CHECK-NEXT:   %square = array.multiply %d, %d : tensor<4xf32>
// CHECK-NEXT:   %mean = array.mean %square : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:   %mean_ct = array.full {value = 1.0} : tensor<f32>
// CHECK-NEXT:   %0 = array.full {value = 4.0} : tensor<f32>
// CHECK-NEXT:   %1 = array.divide %mean_ct, %0 : tensor<f32>
// CHECK-NEXT:   %2 = array.reshape %1 : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %square_ct = array.broadcast_to %2 : tensor<1xf32> -> tensor<4xf32>
// CHECK-NEXT:   %d_ct = array.multiply %square_ct, %d : tensor<4xf32>
// CHECK-NEXT:   %d_ct_1 = array.multiply %square_ct, %d : tensor<4xf32>
// CHECK-NEXT:   %d_ct_2 = grad.accumulate %d_ct, %d_ct_1 : tensor<4xf32>
// CHECK-NEXT:   %b_ct = array.sum %d_ct_2 {axis = [0]} : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:   %3 = array.reshape %mean : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %4 = array.reshape %b_ct : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:   %5 = array.concat %3, %4 {axis = 0} : tensor<1xf32>, tensor<1xf32> -> tensor<2xf32>
// CHECK-NEXT:   %6 = comm.all_reduce %5 {ranks = 2} : tensor<2xf32>
// CHECK-NEXT:   %7 = array.full {value = 2.0} : tensor<2xf32>
// CHECK-NEXT:   %8 = array.divide %6, %7 : tensor<2xf32>
// CHECK-NEXT:   %9 = array.slice %8 {start = [0], stop = [1]} : tensor<2xf32> -> tensor<1xf32>
// CHECK-NEXT:   %mean_1 = array.reshape %9 : tensor<1xf32> -> tensor<f32>
// CHECK-NEXT:   %10 = array.slice %8 {start = [1], stop = [2]} : tensor<2xf32> -> tensor<1xf32>
// CHECK-NEXT:   %b_ct_1 = array.reshape %10 : tensor<1xf32> -> tensor<f32>
// CHECK-NEXT:   %11 = array.reshape %d_ct_2 : tensor<4xf32> -> tensor<4x1xf32>
// CHECK-NEXT:   %12 = array.permute_dims %moved {axes = [1, 0]} : tensor<4x3xf32> -> tensor<3x4xf32>
// CHECK-NEXT:   %13 = array.matmul %12, %11 : tensor<3x4xf32>, tensor<4x1xf32> -> tensor<3x1xf32>
// CHECK-NEXT:   %w_ct = array.reshape %13 : tensor<3x1xf32> -> tensor<3xf32>
// CHECK-NEXT:   %14 = comm.all_reduce %w_ct {ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %15 = array.full {value = 2.0} : tensor<3xf32>
// CHECK-NEXT:   %w_ct_1 = array.divide %14, %15 : tensor<3xf32>
// CHECK-NEXT:   func.return %mean_1, %w_ct_1, %b_ct_1 : tensor<f32>, tensor<3xf32>, tensor<f32>
// CHECK-NEXT: }

//      CHECK: func.func @loss_step_parallel(%w: tensor<3xf32> {grad.name = "w"}, %b: tensor<f32> {grad.name = "b"}, %x: tensor<4x3xf32> {grad.name = "x"}, %y: tensor<4xf32> {grad.name = "y"}, %key: tensor<i64> {grad.name = "key"}) -> (tensor<3xf32>, tensor<f32>, tensor<f32>) {
// CHECK-NEXT:   %0 = comm.rank : tensor<i64>
// CHECK-NEXT:   %1 = array.full {value = 2177342782468422677} : tensor<i64>
// CHECK-NEXT:   %2 = array.multiply %0, %1 : tensor<i64>
// CHECK-NEXT:   %3 = array.add %key, %2 : tensor<i64>
// CHECK-NEXT:   %mean, %w_ct, %b_ct = func.call @loss_grad_parallel(%w, %b, %x, %y, %3) : (tensor<3xf32>, tensor<f32>, tensor<4x3xf32>, tensor<4xf32>, tensor<i64>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %w1, %b1 = func.call @update(%w, %b, %w_ct, %b_ct) : (tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   func.return %w1, %b1, %mean : tensor<3xf32>, tensor<f32>, tensor<f32>
// CHECK-NEXT: }
