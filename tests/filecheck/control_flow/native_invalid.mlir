// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-lower,gradir-bufferize"

func.func @parallel(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{scf.parallel: native code for this op is not there yet}}
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// -----

func.func @sizes(%x: tensor<8xf64>, %n: index) -> tensor<?xf64> {
  // expected-error @+1 {{tensor.extract_slice: native code needs sizes and strides as numbers}}
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf64> to tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// -----

func.func @axis(%x: tensor<8x2xf64>, %k: index) -> index {
  // expected-error @+1 {{tensor.dim: native code needs a constant axis below 2}}
  %n = tensor.dim %x, %k : tensor<8x2xf64>
  func.return %n : index
}

// -----

func.func @given(%t: !grad.tape<f64>, %x: f64) -> index {
  // expected-error @+1 {{grad.tape_push: native code adds no record to a tape without a capacity that is an argument; give its type a capacity}}
  %u = grad.tape_push %t, %x : !grad.tape<f64>
  %n = grad.tape_size %u : !grad.tape<f64>
  func.return %n : index
}

// -----

func.func @back(%t: !grad.tape<f64, capacity = 4>) -> !grad.tape<f64, capacity = 4> {
  // expected-error @+1 {{func.return: native code returns a tape once, and none that it was given}}
  func.return %t : !grad.tape<f64, capacity = 4>
}
