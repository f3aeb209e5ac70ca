// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{array.pad: mode must be one of constant, edge, reflect, got wrap}}
  %0 = array.pad %x {low = 1, high = 0, mode = "wrap"} : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{array.pad: value must be absent in mode edge, got 1.000000e+00 : f64}}
  %0 = array.pad %x {low = 1, high = 0, mode = "edge", value = 1.0} : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{array.pad: axis 1 must not be empty in mode edge, got tensor<2x0xf32>}}
  %0 = array.pad %x {low = [0, 1], high = [0, 0], mode = "edge"} : tensor<2x0xf32> -> tensor<2x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{array.pad: low and high of axis 1 must be below its extent 4 in mode reflect, got 4}}
  %0 = array.pad %x {low = [0, 1], high = [0, 4], mode = "reflect"} : tensor<2x4xf32> -> tensor<2x9xf32>
  func.return
}
