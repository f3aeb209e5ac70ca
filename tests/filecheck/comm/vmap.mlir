// RUN: gradir-opt %s -p 'gradir-vmap{function=f size=8}' | filecheck %s

// All rows go in one message.
func.func @f(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<2xf32>, tensor<4xf32>) {
  %sum = comm.all_reduce %x {ranks = 2} : tensor<4xf32>
  %all = comm.all_gather %sum {axis = 0, ranks = 2} : tensor<4xf32> -> tensor<8xf32>
  %part = comm.reduce_scatter %sum {axis = 0, ranks = 2} : tensor<4xf32> -> tensor<2xf32>
  %next = comm.permute %sum {sources = [0], targets = [1], ranks = 2} : tensor<4xf32>
  func.return %all, %part, %next : tensor<8xf32>, tensor<2xf32>, tensor<4xf32>
}

//      CHECK: func.func @f_vmap(%x: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x2xf32>, tensor<8x4xf32>) {
// CHECK-NEXT:   %sum = comm.all_reduce %x {ranks = 2} : tensor<8x4xf32>
// CHECK-NEXT:   %all = comm.all_gather %sum {axis = 1, ranks = 2} : tensor<8x4xf32> -> tensor<8x8xf32>
// CHECK-NEXT:   %part = comm.reduce_scatter %sum {axis = 1, ranks = 2} : tensor<8x4xf32> -> tensor<8x2xf32>
// CHECK-NEXT:   %next = comm.permute %sum {sources = [0], targets = [1], ranks = 2} : tensor<8x4xf32>
// CHECK-NEXT:   func.return %all, %part, %next : tensor<8x8xf32>, tensor<8x2xf32>, tensor<8x4xf32>
// CHECK-NEXT: }
