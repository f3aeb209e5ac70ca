// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @smooth(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %gelu = nn.gelu %x : tensor<2x3xf32>
  %gelu_tanh = nn.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  %silu = nn.silu %x : tensor<2x3xf32>
  %mish = nn.mish %x : tensor<2x3xf32>
  %softplus = nn.softplus %x : tensor<2x3xf32>
  %softplus_steep = nn.softplus %x {beta = 2.0} : tensor<2x3xf32>
  %logsigmoid = nn.logsigmoid %x : tensor<2x3xf32>
  %softsign = nn.softsign %x : tensor<2x3xf32>
  func.return %gelu, %gelu_tanh, %silu, %mish, %softplus, %softplus_steep, %logsigmoid, %softsign : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @pieces(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %leaky_relu = nn.leaky_relu %x : tensor<2x3xf32>
  %leaky = nn.leaky_relu %x {slope = 0.2} : tensor<2x3xf32>
  %elu = nn.elu %x : tensor<2x3xf32>
  %elu_half = nn.elu %x {alpha = 0.5} : tensor<2x3xf32>
  %celu = nn.celu %x {alpha = 0.5} : tensor<2x3xf32>
  %selu = nn.selu %x : tensor<2x3xf32>
  %hardtanh = nn.hardtanh %x : tensor<2x3xf32>
  %hardsigmoid = nn.hardsigmoid %x : tensor<2x3xf32>
  %hardswish = nn.hardswish %x : tensor<2x3xf32>
  func.return %leaky_relu, %leaky, %elu, %elu_half, %celu, %selu, %hardtanh, %hardsigmoid, %hardswish : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @gated(%x: tensor<2x4xf32>, %one: tensor<1xf32>, %each: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<1x4xf32>) {
  %same = nn.prelu %x, %one : tensor<2x4xf32>, tensor<1xf32> -> tensor<2x4xf32>
  %own = nn.prelu %x, %each : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
  %last = nn.glu %x : tensor<2x4xf32> -> tensor<2x2xf32>
  %first = nn.glu %x {axis = 0} : tensor<2x4xf32> -> tensor<1x4xf32>
  func.return %same, %own, %last, %first : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<1x4xf32>
}

//      CHECK: func.func @smooth(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %gelu = nn.gelu %x : tensor<2x3xf32>
// CHECK-NEXT:   %gelu_tanh = nn.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
// CHECK-NEXT:   %silu = nn.silu %x : tensor<2x3xf32>
// CHECK-NEXT:   %mish = nn.mish %x : tensor<2x3xf32>
// CHECK-NEXT:   %softplus = nn.softplus %x : tensor<2x3xf32>
// CHECK-NEXT:   %softplus_steep = nn.softplus %x {beta = 2.0} : tensor<2x3xf32>
// CHECK-NEXT:   %logsigmoid = nn.logsigmoid %x : tensor<2x3xf32>
// CHECK-NEXT:   %softsign = nn.softsign %x : tensor<2x3xf32>
// CHECK-NEXT:   func.return %gelu, %gelu_tanh, %silu, %mish, %softplus, %softplus_steep, %logsigmoid, %softsign : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @pieces(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:   %leaky_relu = nn.leaky_relu %x : tensor<2x3xf32>
// CHECK-NEXT:   %leaky = nn.leaky_relu %x {slope = 0.2} : tensor<2x3xf32>
// CHECK-NEXT:   %elu = nn.elu %x : tensor<2x3xf32>
// CHECK-NEXT:   %elu_half = nn.elu %x {alpha = 0.5} : tensor<2x3xf32>
// CHECK-NEXT:   %celu = nn.celu %x {alpha = 0.5} : tensor<2x3xf32>
// CHECK-NEXT:   %selu = nn.selu %x : tensor<2x3xf32>
// CHECK-NEXT:   %hardtanh = nn.hardtanh %x : tensor<2x3xf32>
// CHECK-NEXT:   %hardsigmoid = nn.hardsigmoid %x : tensor<2x3xf32>
// CHECK-NEXT:   %hardswish = nn.hardswish %x : tensor<2x3xf32>
// CHECK-NEXT:   func.return %leaky_relu, %leaky, %elu, %elu_half, %celu, %selu, %hardtanh, %hardsigmoid, %hardswish : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @gated(%x: tensor<2x4xf32>, %one: tensor<1xf32>, %each: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<1x4xf32>) {
// CHECK-NEXT:   %same = nn.prelu %x, %one : tensor<2x4xf32>, tensor<1xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %own = nn.prelu %x, %each : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %last = nn.glu %x : tensor<2x4xf32> -> tensor<2x2xf32>
// CHECK-NEXT:   %first = nn.glu %x {axis = 0} : tensor<2x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT:   func.return %same, %own, %last, %first : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<1x4xf32>
// CHECK-NEXT: }
