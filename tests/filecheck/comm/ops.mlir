// RUN: gradir-opt %s -p 'gradir-gradient{function=collectives mode=vjp},gradir-gradient{function=extremum mode=vjp},gradir-gradient{function=messages mode=vjp},gradir-gradient{function=halves mode=jvp}' | filecheck %s

// The derivative is that of the sum of all ranks' results. No result is read, and nothing is dropped.
func.func @collectives(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x3xf32>) {
  %sum = comm.all_reduce %x {ranks = 2} : tensor<4x6xf32>
  %mean = comm.all_reduce %sum {kind = "mean", ranks = 2, ordered = true} : tensor<4x6xf32>
  %root = comm.reduce %mean {root = 1, ranks = 2} : tensor<4x6xf32>
  %all = comm.broadcast %root {root = 1, ranks = 2, group = "rows"} : tensor<4x6xf32>
  %part = comm.reduce_scatter %all {axis = 1, ranks = 2} : tensor<4x6xf32> -> tensor<4x3xf32>
  %whole = comm.all_gather %part {axis = 1, ranks = 2} : tensor<4x3xf32> -> tensor<4x6xf32>
  %unread = comm.all_gather %x {ranks = 2} : tensor<4x6xf32> -> tensor<8x6xf32>
  comm.barrier
  func.return %whole, %part : tensor<4x6xf32>, tensor<4x3xf32>
}

// The cotangents of all ranks go to those that hold the largest, in equal shares.
func.func @extremum(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = comm.all_reduce %x {kind = "max", ranks = 2} : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A send has 0 for a result; its cotangent is what comes back.
func.func @messages(%x: tensor<3xf32>) -> tensor<3xf32> {
  %sent = comm.send %x {target = 1, ranks = 2} : tensor<3xf32>
  %got = comm.recv %sent {source = 1, ranks = 2} : tensor<3xf32>
  %y = comm.permute %got {sources = [0, 1, 2], targets = [1, 2, 0], ranks = 3, group = "ring"} : tensor<3xf32>
  comm.barrier {group = "ring"}
  func.return %y : tensor<3xf32>
}

// Forward mode: the same on tangents. Numbers of ranks have none.
func.func @halves(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>) {
  %y = comm.all_reduce %x {ranks = 2} : tensor<3xf32>
  %got = comm.recv %y {source = 1, ranks = 2} : tensor<3xf32>
  %rank = comm.rank : tensor<i64>
  %size = comm.size {group = "rows"} : tensor<i64>
  %n = array.add %rank, %size : tensor<i64>
  func.return %got, %n : tensor<3xf32>, tensor<i64>
}

//      CHECK: func.func @collectives_vjp(%x: tensor<4x6xf32>, %whole_ct: tensor<4x6xf32>, %part_ct: tensor<4x3xf32>) -> (tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x6xf32>) {
// CHECK-NEXT:   %sum = comm.all_reduce %x {ranks = 2} : tensor<4x6xf32>
// CHECK-NEXT:   %mean = comm.all_reduce %sum {kind = "mean", ranks = 2, ordered = true} : tensor<4x6xf32>
// CHECK-NEXT:   %root = comm.reduce %mean {root = 1, ranks = 2} : tensor<4x6xf32>
// CHECK-NEXT:   %all = comm.broadcast %root {root = 1, ranks = 2, group = "rows"} : tensor<4x6xf32>
// CHECK-NEXT:   %part = comm.reduce_scatter %all {axis = 1, ranks = 2} : tensor<4x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %whole = comm.all_gather %part {axis = 1, ranks = 2} : tensor<4x3xf32> -> tensor<4x6xf32>
// CHECK-NEXT:   %unread = comm.all_gather %x {ranks = 2} : tensor<4x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT:   comm.barrier
// CHECK-NEXT:   %part_ct_1 = comm.reduce_scatter %whole_ct {axis = 1, ranks = 2} : tensor<4x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT:   %part_ct_2 = grad.accumulate %part_ct, %part_ct_1 : tensor<4x3xf32>
// CHECK-NEXT:   %all_ct = comm.all_gather %part_ct_2 {axis = 1, ranks = 2} : tensor<4x3xf32> -> tensor<4x6xf32>
// CHECK-NEXT:   %root_ct = comm.reduce %all_ct {root = 1, ranks = 2, group = "rows"} : tensor<4x6xf32>
// CHECK-NEXT:   %mean_ct = comm.broadcast %root_ct {root = 1, ranks = 2} : tensor<4x6xf32>
// CHECK-NEXT:   %sum_ct = comm.all_reduce %mean_ct {kind = "mean", ordered = true, ranks = 2} : tensor<4x6xf32>
// CHECK-NEXT:   %x_ct = comm.all_reduce %sum_ct {ranks = 2} : tensor<4x6xf32>
// CHECK-NEXT:   func.return %whole, %part, %x_ct : tensor<4x6xf32>, tensor<4x3xf32>, tensor<4x6xf32>
// CHECK-NEXT: }

//      CHECK: func.func @extremum_vjp(%x: tensor<3xf32>, %y_ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %y = comm.all_reduce %x {kind = "max", ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %0 = array.equal %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
// CHECK-NEXT:   %1 = array.astype %0 : tensor<3xi1> -> tensor<3xf32>
// CHECK-NEXT:   %2 = comm.all_reduce %1 {ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %3 = comm.all_reduce %y_ct {ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %4 = array.divide %3, %2 : tensor<3xf32>
// CHECK-NEXT:   %5 = array.equal %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
// CHECK-NEXT:   %6 = array.full {value = 0.0} : tensor<3xf32>
// CHECK-NEXT:   %7 = array.where %5, %6, %x : tensor<3xi1>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   %x_ct = grad.gate %4, %0, %7 : tensor<3xf32>, tensor<3xi1>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @messages_vjp(%x: tensor<3xf32>, %y_ct: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:   %sent = comm.send %x {target = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %got = comm.recv %sent {source = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %y = comm.permute %got {sources = [0, 1, 2], targets = [1, 2, 0], ranks = 3, group = "ring"} : tensor<3xf32>
// CHECK-NEXT:   comm.barrier {group = "ring"}
// CHECK-NEXT:   %got_ct = comm.permute %y_ct {sources = [1, 2, 0], targets = [0, 1, 2], ranks = 3, group = "ring"} : tensor<3xf32>
// CHECK-NEXT:   %sent_ct = comm.send %got_ct {target = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %x_ct = comm.recv %sent_ct {source = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   func.return %y, %x_ct : tensor<3xf32>, tensor<3xf32>
// CHECK-NEXT: }

//      CHECK: func.func @halves_jvp(%x: tensor<3xf32>, %x_tangent: tensor<3xf32>) -> (tensor<3xf32>, tensor<i64>, tensor<3xf32>) {
// CHECK-NEXT:   %y = comm.all_reduce %x {ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %y_tangent = comm.all_reduce %x_tangent {ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %got = comm.recv %y {source = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %got_tangent = comm.recv %y_tangent {source = 1, ranks = 2} : tensor<3xf32>
// CHECK-NEXT:   %rank = comm.rank : tensor<i64>
// CHECK-NEXT:   %size = comm.size {group = "rows"} : tensor<i64>
// CHECK-NEXT:   %n = array.add %rank, %size : tensor<i64>
// CHECK-NEXT:   func.return %got, %n, %got_tangent : tensor<3xf32>, tensor<i64>, tensor<3xf32>
// CHECK-NEXT: }
