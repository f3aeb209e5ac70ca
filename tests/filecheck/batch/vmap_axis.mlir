// RUN: gradir-opt %s -p "gradir-vmap{function=f size=4 axis=i}" | filecheck %s
// RUN: gradir-opt %s -p "gradir-vmap{function=f size=2 axis=k}" | filecheck %s --check-prefix=OTHER
// RUN: not gradir-opt %s -p "gradir-vmap{function=f size=3 axis=i}" 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not gradir-opt %s -p "gradir-vmap{function=search size=4 axis=i}" 2>&1 | filecheck %s --check-prefix=LOOP

// Collectives of the group that `axis` names are between the rows: a mean of theirs has no rows.
// Those of other groups are between processes, with all rows in one message.
// SIZE: vmap_axis.mlir:10:3: error: comm.all_reduce: ranks = 4 must be the number of rows "i", got 3
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %mean = comm.all_reduce %x {kind = "mean", ranks = 4, group = "i"} : tensor<3xf64>
  %y = array.subtract %x, %mean : tensor<3xf64>
  func.return %y : tensor<3xf64>
}

//      CHECK: func.func @f_vmap(%x: tensor<4x3xf64>) -> tensor<4x3xf64> {
// CHECK-NEXT:   %[[SUM:.*]] = array.sum %x {axis = [0]} : tensor<4x3xf64> -> tensor<3xf64>
// CHECK-NEXT:   %[[FOUR:.*]] = array.full {value = 4.0} : tensor<3xf64>
// CHECK-NEXT:   %mean = array.divide %[[SUM]], %[[FOUR]] : tensor<3xf64>
// CHECK-NEXT:   %[[MEANS:.*]] = array.broadcast_to %mean : tensor<3xf64> -> tensor<4x3xf64>
// CHECK-NEXT:   %y = array.subtract %x, %[[MEANS]] : tensor<4x3xf64>
// CHECK-NEXT:   func.return %y : tensor<4x3xf64>

//      OTHER: func.func @f_vmap(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
// OTHER-NEXT:   %mean = comm.all_reduce %x {kind = "mean", ranks = 4, group = "i"} : tensor<2x3xf64>

// Rows that run one after the other have no sum of all.
// LOOP: vmap_axis.mlir:30:3: error: gradir-vmap: a collective over the rows "i" must run for all rows at once, and scf.while around it goes other ways in each row
func.func @search(%x: tensor<3xf64>) -> tensor<3xf64> {
  %limit = array.full {value = 1.0} : tensor<f64>
  %y = scf.while (%a = %x) : (tensor<3xf64>) -> tensor<3xf64> {
    %size = array.norm %a : tensor<3xf64> -> tensor<f64>
    %far = array.greater %size, %limit : tensor<f64>, tensor<f64> -> tensor<i1>
    %go = tensor.extract %far[] : tensor<i1>
    scf.condition(%go) %a : tensor<3xf64>
  } do {
  ^bb0(%b: tensor<3xf64>):
    %c = comm.all_reduce %b {kind = "mean", ranks = 4, group = "i"} : tensor<3xf64>
    scf.yield %c : tensor<3xf64>
  }
  func.return %y : tensor<3xf64>
}
