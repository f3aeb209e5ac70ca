// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf64>, %n: tensor<3xi32>) {
  // expected-error @+1 {{math.fpowi: operands and results must have one shape, got [2] and [3]}}
  %y = math.fpowi %x, %n : tensor<2xf64>, tensor<3xi32>
  func.return
}

// -----

func.func @f(%x: tensor<2xf64>, %n: i32) {
  // expected-error @+1 {{math.fpowi: tensors must not meet numbers, got i32}}
  %y = math.fpowi %x, %n : tensor<2xf64>, i32
  func.return
}

// -----

func.func @f(%x: tensor<2xui8>) {
  // expected-error @+1 {{arith.sitofp: integers must be signless, got tensor<2xui8>}}
  %y = arith.sitofp %x : tensor<2xui8> to tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: ui8) {
  // expected-error @+1 {{arith.divsi: integers must be signless, got ui8}}
  %y = arith.divsi %x, %x : ui8
  func.return
}

// -----

func.func @f(%x: tensor<2xf64>) {
  // expected-error @+1 {{arith.cmpf: the predicate must be one of false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true, got lt}}
  %y = arith.cmpf lt, %x, %x : tensor<2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<2xf64>, %c: tensor<3xi1>) {
  // expected-error @+1 {{arith.select: operands and results must have one shape, got [3] and [2]}}
  %y = arith.select %c, %x, %x : tensor<3xi1>, tensor<2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<2xi32>) {
  // expected-error @+1 {{arith.trunci: Destination bit-width must be smaller than the input bit-width}}
  %y = arith.trunci %x : tensor<2xi32> to tensor<2xi64>
  func.return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{arith.bitcast: types must have one width, got i32 and index}}
  %y = arith.bitcast %x : i32 to index
  func.return
}

// -----

func.func @f(%x: tensor<2xf64>) {
  // expected-error @+1 {{tensor.cast: shapes must be able to agree, got tensor<2xf64> and tensor<3xf64>}}
  %y = tensor.cast %x : tensor<2xf64> to tensor<3xf64>
  func.return
}
