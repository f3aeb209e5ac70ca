// RUN: gradir-opt %s -p "gradir-dce" | filecheck %s --check-prefix=DCE
// RUN: gradir-opt %s -p "cse" | filecheck %s --check-prefix=CSE
// RUN: gradir-opt %s -p "gradir-inline" | filecheck %s --check-prefix=INLINE

// Equal ops merge but across a barrier; what nobody reads goes. Barriers do not merge, and only
// gradir drops a dead one.
func.func @barriers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = array.exp %x : tensor<4xf32>
  %b = array.exp %x : tensor<4xf32>
  %barrier = grad.barrier %x : tensor<4xf32>
  %c = array.exp %barrier : tensor<4xf32>
  %dead = grad.barrier %x : tensor<4xf32>
  %sum = grad.accumulate %a, %b, %c : tensor<4xf32>
  func.return %sum : tensor<4xf32>
}
func.func @callee(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = array.sin %x : tensor<4xf32>
  func.return %y, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @middle(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y, %z = func.call @callee(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %s = array.add %y, %z : tensor<4xf32>
  func.return %s : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @middle(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @middle(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

//      DCE: func.func @barriers(%x: tensor<4xf32>) -> tensor<4xf32> {
// DCE-NEXT:   %a = array.exp %x : tensor<4xf32>
// DCE-NEXT:   %b = array.exp %x : tensor<4xf32>
// DCE-NEXT:   %barrier = grad.barrier %x : tensor<4xf32>
// DCE-NEXT:   %c = array.exp %barrier : tensor<4xf32>
// DCE-NEXT:   %sum = grad.accumulate %a, %b, %c : tensor<4xf32>
// DCE-NEXT:   func.return %sum : tensor<4xf32>
// DCE-NEXT: }

//      CSE: func.func @barriers(%x: tensor<4xf32>) -> tensor<4xf32> {
// CSE-NEXT:   %a = array.exp %x : tensor<4xf32>
// CSE-NEXT:   %barrier = grad.barrier %x : tensor<4xf32>
// CSE-NEXT:   %c = array.exp %barrier : tensor<4xf32>
// CSE-NEXT:   %dead = grad.barrier %x : tensor<4xf32>
// CSE-NEXT:   %sum = grad.accumulate %a, %a, %c : tensor<4xf32>
// CSE-NEXT:   func.return %sum : tensor<4xf32>
// CSE-NEXT: }

//      INLINE: func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
// INLINE-NEXT:   %y = array.sin %x : tensor<4xf32>
// INLINE-NEXT:   %s = array.add %y, %x : tensor<4xf32>
// INLINE-NEXT:   %y_1 = array.sin %s : tensor<4xf32>
// INLINE-NEXT:   %s_1 = array.add %y_1, %s : tensor<4xf32>
// INLINE-NEXT:   func.return %s_1 : tensor<4xf32>
// INLINE-NEXT: }
