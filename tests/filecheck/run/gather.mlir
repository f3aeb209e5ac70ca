// RUN: gradir-run %s --function f --random-inputs 1 | filecheck %s --check-prefix=PRIMAL
// RUN: gradir-run %s -p "gradir-gradient{function=f mode=grad}" --function f_grad --random-inputs 1 | filecheck %s --check-prefix=GRAD
// RUN: not gradir-run %s --function outside --random-inputs 1 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: not gradir-run %s --function outside --random-inputs 1 --interpret 2>&1 | filecheck %s --check-prefix=ERROR

// Repeated indices add in the gradient of take; a negative index counts from the end.
func.func @f(%x: tensor<4x2xf32>) -> tensor<f32> {
  %i = array.constant {value = dense<[1, -1, 1]> : tensor<3xi64>} : tensor<3xi64>
  %rows = array.take %x, %i {axis = 0} : tensor<4x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
  %sum = array.sum %rows : tensor<3x2xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
func.func @outside(%x: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %i = array.constant {value = dense<[0, 4]> : tensor<2xi64>} : tensor<2xi64>
  %rows = array.take %x, %i {axis = 0} : tensor<4x2xf32>, tensor<2xi64> -> tensor<2x2xf32>
  func.return %rows : tensor<2x2xf32>
}

//      PRIMAL: result0: float32[] = -5.606102  // %sum

//      GRAD: result0: float32[] = -5.606102  // %sum
// GRAD-NEXT: result1: float32[4,2]  // %x_ct
// GRAD-NEXT: {{\[\[}}0.000000 0.000000]
// GRAD-NEXT:  [2.000000 2.000000]
// GRAD-NEXT:  [0.000000 0.000000]
// GRAD-NEXT:  [1.000000 1.000000]]

// ERROR: gather.mlir:15:3: error: array.take: index 4 is out of range for a size of 4
