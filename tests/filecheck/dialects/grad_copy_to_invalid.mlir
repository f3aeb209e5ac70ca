// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{grad.copy_to: space must be a string, got nothing}}
  %0 = grad.copy_to %x : tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{grad.copy_to: space must be one of cpu:0, cpu:1, got gpu:0}}
  %0 = grad.copy_to %x {space = "gpu:0"} : tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{grad.copy_to: source must be one of cpu:0, cpu:1, got disk}}
  %0 = grad.copy_to %x {space = "cpu:0", source = "disk"} : tensor<3xf32>
  func.return
}
