// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP

func.func @axes(%x: tensor<2x4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
  %layer = nn.layer_norm %x, %s, %b : tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
  %no_bias = nn.layer_norm %x, %m {axes = [1, 2], eps = 0.001} : tensor<2x4x3xf32>, tensor<4x3xf32> -> tensor<2x4x3xf32>
  %plain = nn.layer_norm %x : tensor<2x4x3xf32> -> tensor<2x4x3xf32>
  %no_scale = nn.layer_norm %x, %b {operandSegmentSizes = array<i32: 1, 0, 1>} : tensor<2x4x3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
  %rms = nn.rms_norm %x, %s : tensor<2x4x3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
  func.return %layer, %no_bias, %plain, %no_scale, %rms : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>
}
func.func @channels(%x: tensor<2x4x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
  %group = nn.group_norm %x, %s, %b {groups = 2} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
  %last = nn.group_norm %x {groups = 3, layout = "NHWC"} : tensor<2x4x3xf32> -> tensor<2x4x3xf32>
  %instance = nn.instance_norm %x, %s, %b : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
  %no_scale = nn.instance_norm %x, %b {eps = 0.001, operandSegmentSizes = array<i32: 1, 0, 1>} : tensor<2x4x3xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
  func.return %group, %last, %instance, %no_scale : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>
}
func.func @state(%x: tensor<2x4x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) {
  %trained, %mean, %var, %batch_mean, %batch_inverse = nn.batch_norm %x, %s, %b, %m, %v {training = true, momentum = 0.2} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %y, %same_mean, %same_var, %used_mean, %used_inverse = nn.batch_norm %trained, %s, %b, %mean, %var : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  func.return %y, %mean, %var, %trained : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>
}

//      CHECK: func.func @axes(%x: tensor<2x4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
// CHECK-NEXT:   %layer = nn.layer_norm %x, %s, %b : tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %no_bias = nn.layer_norm %x, %m {axes = [1, 2], eps = 0.001} : tensor<2x4x3xf32>, tensor<4x3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %plain = nn.layer_norm %x : tensor<2x4x3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %no_scale = nn.layer_norm %x, %b {operandSegmentSizes = array<i32: 1, 0, 1>} : tensor<2x4x3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %rms = nn.rms_norm %x, %s : tensor<2x4x3xf32>, tensor<3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   func.return %layer, %no_bias, %plain, %no_scale, %rms : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @channels(%x: tensor<2x4x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
// CHECK-NEXT:   %group = nn.group_norm %x, %s, %b {groups = 2} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %last = nn.group_norm %x {groups = 3, layout = "NHWC"} : tensor<2x4x3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %instance = nn.instance_norm %x, %s, %b : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   %no_scale = nn.instance_norm %x, %b {eps = 0.001, operandSegmentSizes = array<i32: 1, 0, 1>} : tensor<2x4x3xf32>, tensor<4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT:   func.return %group, %last, %instance, %no_scale : tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x4x3xf32>
// CHECK-NEXT: }
//      CHECK: func.func @state(%x: tensor<2x4x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>) {
// CHECK-NEXT:   %trained, %mean, %var, %batch_mean, %batch_inverse = nn.batch_norm %x, %s, %b, %m, %v {training = true, momentum = 0.2} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:   %y, %same_mean, %same_var, %used_mean, %used_inverse = nn.batch_norm %trained, %s, %b, %mean, %var : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:   func.return %y, %mean, %var, %trained : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x3xf32>
// CHECK-NEXT: }
