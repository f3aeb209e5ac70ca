// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<5xf32>, %m: tensor<5xi1>) {
  // expected-error @+1 {{array.boolean_mask: the result's shape must not depend on values, got one that counts the true elements of the mask; replace the other elements with array.where}}
  %0 = array.boolean_mask %x, %m : tensor<5xf32>, tensor<5xi1> -> tensor<?xf32>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.nonzero: the result's shape must not depend on values, got one that counts the elements that are not zero; mark them with array.not_equal for array.where, or bring a fixed number of them to the front with array.top_k}}
  %0 = array.nonzero %x : tensor<5xf32> -> tensor<?x1xi64>
  func.return
}

// -----

func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{array.unique: the result's shape must not depend on values, got one that counts the distinct elements; bring equal elements together with array.sort}}
  %0, %1 = "array.unique"(%x) {axis = 0} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<?xi64>)
  func.return
}
