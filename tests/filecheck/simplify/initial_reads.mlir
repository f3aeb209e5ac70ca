// RUN: gradir-opt %s -p "gradir-simplify,gradir-dce" | filecheck %s

// Each iteration takes its row of %ct, and leaves zeros there. The rows are those of %x, and nothing
// is carried for them.
func.func @rows(%x: tensor<4x2xf64>) -> tensor<2xf64> {
  %low = arith.constant 0 : index
  %high = arith.constant 4 : index
  %one = arith.constant 1 : index
  %last = arith.constant 3 : index
  %zeros = grad.zero : tensor<2xf64>
  %s, %c = scf.for %k = %low to %high step %one iter_args(%sum = %zeros, %ct = %x)
      -> (tensor<2xf64>, tensor<4x2xf64>) {
    %i = arith.subi %last, %k : index
    %row = tensor.extract_slice %ct[%i, 0] [1, 2] [1, 1] : tensor<4x2xf64> to tensor<2xf64>
    %rest = tensor.insert_slice %zeros into %ct[%i, 0] [1, 2] [1, 1]
        : tensor<2xf64> into tensor<4x2xf64>
    %next = array.add %sum, %row : tensor<2xf64>
    scf.yield %next, %rest : tensor<2xf64>, tensor<4x2xf64>
  }
  func.return %s : tensor<2xf64>
}

// CHECK-LABEL: func.func @rows
// CHECK: scf.for %k = %low to %high step %one iter_args(%sum = %zeros) -> (tensor<2xf64>) {
// CHECK-NEXT: %i = arith.subi %last, %k : index
// CHECK-NEXT: %row = tensor.extract_slice %x[%i, 0]
// CHECK-NEXT: %next = array.add %sum, %row : tensor<2xf64>
// CHECK-NEXT: scf.yield %next : tensor<2xf64>

// A mask that began as true is true in each row, and the gate is none.
func.func @masks(%x: tensor<4x2xf64>) -> tensor<2xf64> {
  %low = arith.constant 0 : index
  %high = arith.constant 4 : index
  %one = arith.constant 1 : index
  %zeros = grad.zero : tensor<2xf64>
  %true = array.full {value = 1} : tensor<4x2xi1>
  %false = array.full {value = 0} : tensor<2xi1>
  %s, %m = scf.for %i = %low to %high step %one iter_args(%sum = %zeros, %mask = %true)
      -> (tensor<2xf64>, tensor<4x2xi1>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 2] [1, 1] : tensor<4x2xf64> to tensor<2xf64>
    %wide = arith.index_cast %i : index to i64
    %place = tensor.from_elements %wide : tensor<i64>
    %column = array.full {value = 0} : tensor<i64>
    %taken = array.dynamic_slice %mask, %place, %column {sizes = [1, 2]}
        : tensor<4x2xi1>, tensor<i64>, tensor<i64> -> tensor<1x2xi1>
    %keep = array.reshape %taken : tensor<1x2xi1> -> tensor<2xi1>
    %gated = grad.gate %row, %keep, %zeros : tensor<2xf64>, tensor<2xi1>, tensor<2xf64> -> tensor<2xf64>
    %rest = tensor.insert_slice %false into %mask[%i, 0] [1, 2] [1, 1]
        : tensor<2xi1> into tensor<4x2xi1>
    %next = array.add %sum, %gated : tensor<2xf64>
    scf.yield %next, %rest : tensor<2xf64>, tensor<4x2xi1>
  }
  func.return %s : tensor<2xf64>
}

// CHECK-LABEL: func.func @masks
// CHECK: scf.for {{.*}} iter_args(%sum = %zeros) -> (tensor<2xf64>) {
// CHECK-NEXT: %row = tensor.extract_slice %x[%i, 0]
// CHECK-NEXT: %next = array.add %sum, %row : tensor<2xf64>
// CHECK-NEXT: scf.yield %next : tensor<2xf64>
