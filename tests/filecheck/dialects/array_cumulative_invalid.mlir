// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.cumulative_sum: axis must be given for an operand of rank 2}}
  %y = array.cumulative_sum %x : tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{array.cumulative_prod: axis must be in [-2, 2), got 2}}
  %y = array.cumulative_prod %x {axis = 2} : tensor<3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xi1>) {
  // expected-error @+1 {{array.cumulative_sum: elements must be floating or integer, got tensor<3xi1>}}
  %y = array.cumulative_sum %x : tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.cumulative_sum: exclusive must be true or false, got 1 : i64}}
  %y = array.cumulative_sum %x {exclusive = 1} : tensor<3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<3xi64>) {
  // expected-error @+1 {{grad.linear_recurrence: elements must be floating, got tensor<3xi64>}}
  %y = grad.linear_recurrence %a, %a : tensor<3xi64>
  func.return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error @+1 {{grad.shift: by must be one integer, got nothing}}
  %y = grad.shift %a : tensor<3xf32>
  func.return
}
