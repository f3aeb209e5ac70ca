// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: unknown attribute strides; known: stride, padding, dilation, groups, layout}}
  %0 = nn.conv2d %x, %y {strides = 2} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: stride must be 1 or 2 numbers >= 1, got [1, 1, 1]}}
  %0 = nn.conv2d %x, %y {stride = [1, 1, 1]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: stride must be 1 or 2 numbers >= 1, got [-1]}}
  %0 = nn.conv2d %x, %y {stride = -1} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %y: tensor<6x4x3xf32>) {
  // expected-error @+1 {{nn.conv1d: dilation must be 1 number >= 1, got [0]}}
  %0 = nn.conv1d %x, %y {dilation = 0} : tensor<2x4x8xf32>, tensor<6x4x3xf32> -> tensor<2x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: padding must be 1, 2 or 4 numbers >= 0, got [1, 1, 1]}}
  %0 = nn.conv2d %x, %y {padding = [1, 1, 1]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: padding must be 1, 2 or 4 numbers >= 0, got [-1]}}
  %0 = nn.conv2d %x, %y {padding = -1} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: groups must be >= 1, got 0}}
  %0 = nn.conv2d %x, %y {groups = 0} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: layout must be one of NCHW, NHWC, got CHWN}}
  %0 = nn.conv2d %x, %y {layout = "CHWN"} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3xf32>) {
  // expected-error @+1 {{nn.conv2d: x and weight must have rank 4, got tensor<2x4x8x8xf32> and tensor<6x4x3xf32>}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xf32>, tensor<6x4x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: x must have 2 * 1 channels (those of weight times groups), got 4}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: x must have 2 * 3 channels (those of weight times groups), got 4}}
  %0 = nn.conv2d %x, %y {groups = 3} : tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<5x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: the output channels of weight must divide by groups, got 5 and 2}}
  %0 = nn.conv2d %x, %y {groups = 2} : tensor<2x4x8x8xf32>, tensor<5x2x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x0xf32>) {
  // expected-error @+1 {{nn.conv2d: the kernel must not be empty, got tensor<6x4x3x0xf32>}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xf32>, tensor<6x4x3x0xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: the kernel must fit into the padded input, got 9 elements into 8}}
  %0 = nn.conv2d %x, %y {dilation = 4} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv2d: result type must be tensor<2x6x6x6xf32>, got tensor<2x6x8x8xf32>}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x8x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf64>) {
  // expected-error @+1 {{nn.conv2d: elements must agree, got tensor<2x4x8x8xf32> and tensor<6x4x3x3xf64>}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf64> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xi32>, %y: tensor<6x4x3x3xi32>) {
  // expected-error @+1 {{nn.conv2d: elements must be floating, got tensor<2x4x8x8xi32>}}
  %0 = nn.conv2d %x, %y : tensor<2x4x8x8xi32>, tensor<6x4x3x3xi32> -> tensor<2x6x6x6xi32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{nn.conv2d: bias must have the shape 6, got tensor<4xf32>}}
  %0 = nn.conv2d %x, %y, %z : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x8x8xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{nn.conv3d: x and weight must have rank 5, got tensor<2x4x8x8xf32> and tensor<6x4x3x3xf32>}}
  %0 = nn.conv3d %x, %y : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32> -> tensor<2x6x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x6x5x6xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{grad.conv2d_input_backward: ct must have the shape 2x6x6x6, got tensor<2x6x5x6xf32>}}
  %0 = grad.conv2d_input_backward %x, %y : tensor<2x6x5x6xf32>, tensor<6x4x3x3xf32> -> tensor<2x4x8x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x6x6x6xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{grad.conv2d_input_backward: x must have 4 * 1 channels (those of weight times groups), got 5}}
  %0 = grad.conv2d_input_backward %x, %y : tensor<2x6x6x6xf32>, tensor<6x4x3x3xf32> -> tensor<2x5x8x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x6x6x6xf32>, %y: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{grad.conv2d_weight_backward: ct must have the shape 2x6x6x7, got tensor<2x6x6x6xf32>}}
  %0 = grad.conv2d_weight_backward %x, %y : tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32> -> tensor<6x4x3x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x6x6x6xf32>, %y: tensor<2x4x8x8xf64>) {
  // expected-error @+1 {{grad.conv2d_weight_backward: elements must agree, got tensor<2x6x6x6xf32>, tensor<2x4x8x8xf64> and tensor<6x4x3x3xf32>}}
  %0 = grad.conv2d_weight_backward %x, %y : tensor<2x6x6x6xf32>, tensor<2x4x8x8xf64> -> tensor<6x4x3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: output_padding must be less than the stride, got [2, 2] and [2, 2]}}
  %0 = nn.conv_transpose2d %x, %y {stride = 2, output_padding = 2} : tensor<2x4x3x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: output_padding must be 1 or 2 numbers >= 0, got [-1]}}
  %0 = nn.conv_transpose2d %x, %y {output_padding = -1} : tensor<2x4x3x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: x and weight must have rank 4, got tensor<2x4x3xf32> and tensor<4x2x3x3xf32>}}
  %0 = nn.conv_transpose2d %x, %y : tensor<2x4x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x6x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x3x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: x must have 4 channels (those of weight), got 3}}
  %0 = nn.conv_transpose2d %x, %y : tensor<2x3x3x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x3x3xf32>, %y: tensor<3x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: the channels of x must divide by groups, got 3 and 2}}
  %0 = nn.conv_transpose2d %x, %y {groups = 2} : tensor<2x3x3x3xf32>, tensor<3x2x3x3xf32> -> tensor<2x2x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3x3xf32>, %y: tensor<4x2x0x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: the kernel must not be empty, got tensor<4x2x0x3xf32>}}
  %0 = nn.conv_transpose2d %x, %y : tensor<2x4x3x3xf32>, tensor<4x2x0x3xf32> -> tensor<2x2x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x0x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: x must have spatial extents >= 1, got tensor<2x4x0x3xf32>}}
  %0 = nn.conv_transpose2d %x, %y : tensor<2x4x0x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3x3xf32>, %y: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: padding must leave extents >= 0 of the result, got [-1, -1]}}
  %0 = nn.conv_transpose2d %x, %y {padding = 3} : tensor<2x4x3x3xf32>, tensor<4x2x3x3xf32> -> tensor<2x2x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4x3x3xf32>, %y: tensor<4x2x3x3xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{nn.conv_transpose2d: bias must have the shape 2, got tensor<4xf32>}}
  %0 = nn.conv_transpose2d %x, %y, %z : tensor<2x4x3x3xf32>, tensor<4x2x3x3xf32>, tensor<4xf32> -> tensor<2x2x5x5xf32>
  func.return
}
