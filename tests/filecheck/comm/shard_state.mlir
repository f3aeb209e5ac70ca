// RUN: gradir-opt %s -p 'gradir-shard-state{function=step sharded=w,m ranks=2}' | filecheck %s

// Parts of 5 elements on 2 ranks are of 3: w is gathered for the forward and for the backward code,
// its gradient is a part where it is made; b is whole.
func.func @f_grad(%w: tensor<5xf32>, %b: tensor<f32>, %x: tensor<4x5xf32>) -> (tensor<f32>, tensor<5xf32>, tensor<f32>) {
  %h = array.matmul %x, %w : tensor<4x5xf32>, tensor<5xf32> -> tensor<4xf32>
  %loss = array.mean %h : tensor<4xf32> -> tensor<f32>
  %w_ct = array.sin %w : tensor<5xf32>
  func.return %loss, %w_ct, %b : tensor<f32>, tensor<5xf32>, tensor<f32>
}
func.func @update(%w: tensor<5xf32>, %m: tensor<5xf32>, %w_ct: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %rate = array.full {value = 0.5} : tensor<f32>
  %rates = array.broadcast_to %rate : tensor<f32> -> tensor<5xf32>
  %m1 = array.add %m, %w_ct : tensor<5xf32>
  %moved = array.multiply %m1, %rates : tensor<5xf32>
  %w1 = array.subtract %w, %moved : tensor<5xf32>
  func.return %w1, %m1 : tensor<5xf32>, tensor<5xf32>
}
func.func @step(%w: tensor<5xf32> {grad.name = "w"}, %m: tensor<5xf32> {grad.name = "m"}, %b: tensor<f32>, %x: tensor<4x5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<5xf32>) {
  %loss, %w_ct, %b_ct = func.call @f_grad(%w, %b, %x) : (tensor<5xf32>, tensor<f32>, tensor<4x5xf32>) -> (tensor<f32>, tensor<5xf32>, tensor<f32>)
  %w1, %m1 = func.call @update(%w, %m, %w_ct) : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>)
  %b1 = array.subtract %b, %b_ct : tensor<f32>
  %slow = array.negative %m1 : tensor<5xf32>
  func.return %w1, %m1, %b1, %slow : tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<5xf32>
}

//      CHECK: func.func @sharded_f_grad(%w: tensor<3xf32>, %b: tensor<f32>, %x: tensor<4x5xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>) {
// CHECK-NEXT:   %0 = comm.all_gather %w {axis = 0, ranks = 2} : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   %w_1 = array.slice %0 {start = [0], stop = [5]} : tensor<6xf32> -> tensor<5xf32>
// CHECK-NEXT:   %h = array.matmul %x, %w_1 : tensor<4x5xf32>, tensor<5xf32> -> tensor<4xf32>
// CHECK-NEXT:   %loss = array.mean %h : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT:   %1 = comm.all_gather %w {axis = 0, ranks = 2} : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   %w_2 = array.slice %1 {start = [0], stop = [5]} : tensor<6xf32> -> tensor<5xf32>
// CHECK-NEXT:   %w_ct = array.sin %w_2 : tensor<5xf32>
// CHECK-NEXT:   %2 = array.pad %w_ct {low = [0], high = [1]} : tensor<5xf32> -> tensor<6xf32>
// CHECK-NEXT:   %w_ct_1 = comm.part %2 {axis = 0, ranks = 2} : tensor<6xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %loss, %w_ct_1, %b : tensor<f32>, tensor<3xf32>, tensor<f32>
// CHECK-NEXT: }

//      CHECK: func.func @step_sharded(%w: tensor<3xf32> {grad.name = "w"}, %m: tensor<3xf32> {grad.name = "m"}, %b: tensor<f32>, %x: tensor<4x5xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<5xf32>) {
// CHECK-NEXT:   %loss, %w_ct, %b_ct = func.call @sharded_f_grad(%w, %b, %x) : (tensor<3xf32>, tensor<f32>, tensor<4x5xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
// CHECK-NEXT:   %rate = array.full {value = 0.5} : tensor<f32>
// CHECK-NEXT:   %m1 = array.add %m, %w_ct : tensor<3xf32>
// CHECK-NEXT:   %0 = array.broadcast_to %rate : tensor<f32> -> tensor<3xf32>
// CHECK-NEXT:   %moved = array.multiply %m1, %0 : tensor<3xf32>
// CHECK-NEXT:   %w1 = array.subtract %w, %moved : tensor<3xf32>
// CHECK-NEXT:   %b1 = array.subtract %b, %b_ct : tensor<f32>
// CHECK-NEXT:   %slow = array.negative %m1 : tensor<3xf32>
// CHECK-NEXT:   %1 = comm.all_gather %slow {axis = 0, ranks = 2} : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:   %2 = array.slice %1 {start = [0], stop = [5]} : tensor<6xf32> -> tensor<5xf32>
// CHECK-NEXT:   func.return %w1, %m1, %b1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<5xf32>
// CHECK-NEXT: }
