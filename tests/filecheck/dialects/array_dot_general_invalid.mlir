// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: lhs_contract and rhs_contract must be as many, got [2] and []}}
  %0 = array.dot_general %x, %y {lhs_contract = [2]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: lhs_batch and rhs_batch must be as many, got [] and [2]}}
  %0 = array.dot_general %x, %y {rhs_batch = [2]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: axes 1 of lhs and 0 of rhs must have one extent, got 3 and 4}}
  %0 = array.dot_general %x, %y {lhs_contract = [1], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: lhs_batch and lhs_contract must name each axis once, got [0, 0]}}
  %0 = array.dot_general %x, %y {lhs_batch = [0], lhs_contract = [-3], rhs_batch = [1], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: lhs_contract must be in [-3, 3), got 3}}
  %0 = array.dot_general %x, %y {lhs_contract = [3], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // expected-error @+1 {{array.dot_general: result type must be tensor<2x3x2x5xf32>, got tensor<3x5xf32>}}
  %0 = array.dot_general %x, %y {lhs_contract = [2], rhs_contract = [0]} : tensor<2x3x4xf32>, tensor<4x2x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<4x5xf64>) {
  // expected-error @+1 {{array.dot_general: elements must agree, got tensor<2x3x4xf32> and tensor<4x5xf64>}}
  %0 = array.dot_general %x, %y : tensor<2x3x4xf32>, tensor<4x5xf64> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2xi1>, %y: tensor<2xi1>) {
  // expected-error @+1 {{array.dot_general: elements must be floating or integer, got tensor<2xi1>}}
  %0 = array.dot_general %x, %y : tensor<2xi1>, tensor<2xi1> -> tensor<2x2xi1>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %y: tensor<2x2xf32>) {
  // expected-error @+1 {{array.outer: operands must have rank 1, got tensor<3xf32> and tensor<2x2xf32>}}
  %0 = array.outer %x, %y : tensor<3xf32>, tensor<2x2xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %y: tensor<2xi32>) {
  // expected-error @+1 {{array.outer: elements must agree, got tensor<3xf32> and tensor<2xi32>}}
  %0 = array.outer %x, %y : tensor<3xf32>, tensor<2xi32> -> tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+1 {{array.vecdot: both must have one extent along the axis, got 4 and 5}}
  %0 = array.vecdot %x, %y : tensor<3x4xf32>, tensor<3x5xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{array.vecdot: axis must be negative for operands of 2 and 1 axes, got 1}}
  %0 = array.vecdot %x, %y {axis = 1} : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{array.vecdot: axis must be in [-1, 1), got -2}}
  %0 = array.vecdot %x, %y {axis = -2} : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{array.vecdot: shapes must broadcast, got [3, 4] and [2, 4]}}
  %0 = array.vecdot %x, %y : tensor<3x4xf32>, tensor<2x4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<f32>, %y: tensor<f32>) {
  // expected-error @+1 {{array.vecdot: axis must be in [0, 0), got -1}}
  %0 = array.vecdot %x, %y : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{array.einsum: equation must be a string, got nothing}}
  %0 = array.einsum %x, %y : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{array.einsum: equation must be terms of letters and at most one `...` each, with commas between them and perhaps `->` and the result's, got 'ij;jk'}}
  %0 = array.einsum %x, %y {equation = "ij;jk"} : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: equation must be terms of letters and at most one `...` each, with commas between them and perhaps `->` and the result's, got 'i...j...'}}
  %0 = array.einsum %x {equation = "i...j..."} : tensor<3x4xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+1 {{array.einsum: equation must have a term for each operand, got 1 and 2}}
  %0 = array.einsum %x, %y {equation = "ij->ji"} : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: term 'ijk' must name the 2 axes of its operand}}
  %0 = array.einsum %x {equation = "ijk"} : tensor<3x4xf32> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: term 'i' must name the 2 axes of its operand}}
  %0 = array.einsum %x {equation = "i"} : tensor<3x4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<5x6xf32>) {
  // expected-error @+1 {{array.einsum: index j must have one extent, got 4 and 5}}
  %0 = array.einsum %x, %y {equation = "ij,jk"} : tensor<3x4xf32>, tensor<5x6xf32> -> tensor<3x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>) {
  // expected-error @+1 {{array.einsum: index `...` must have one extent, got 3 and 5}}
  %0 = array.einsum %x, %y {equation = "...,..."} : tensor<3x4xf32>, tensor<5x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{array.einsum: index i must have one extent, got 1 and 3}}
  %0 = array.einsum %x {equation = "ii"} : tensor<1x3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: index k of the result must occur in a term}}
  %0 = array.einsum %x {equation = "ij->k"} : tensor<3x4xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: the result must name each index once, got 'ii'}}
  %0 = array.einsum %x {equation = "ij->ii"} : tensor<3x4xf32> -> tensor<3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.einsum: result type must be tensor<4x3xf32>, got tensor<3x4xf32>}}
  %0 = array.einsum %x {equation = "ij->ji"} : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4x5xf64>) {
  // expected-error @+1 {{array.einsum: elements must agree, got tensor<3x4xf32> and tensor<4x5xf64>}}
  %0 = array.einsum %x, %y {equation = "ij,jk"} : tensor<3x4xf32>, tensor<4x5xf64> -> tensor<3x5xf32>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.einsum: at least one operand expected, got none}}
  %0 = "array.einsum"() {equation = ""} : () -> tensor<f32>
  func.return
}
