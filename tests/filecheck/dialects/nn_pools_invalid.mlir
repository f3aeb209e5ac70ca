// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: kernel must be 2 integers, got nothing}}
  %0 = nn.max_pool2d %x {stride = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: kernel must be 2 integers >= 1, got [1, 2, 3]}}
  %0 = nn.max_pool2d %x {kernel = [1, 2, 3]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: kernel must be 2 integers >= 1, got [0, 0]}}
  %0 = nn.max_pool2d %x {kernel = 0} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: stride must be 2 integers >= 1, got [0, 1]}}
  %0 = nn.max_pool2d %x {kernel = 2, stride = [0, 1]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: padding must be 2 or 4 integers >= 0, got [-1, -1]}}
  %0 = nn.max_pool2d %x {kernel = 2, padding = -1} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: padding must be 2 or 4 integers >= 0, got [1, 1, 1]}}
  %0 = nn.max_pool2d %x {kernel = 2, padding = [1, 1, 1]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: padding must be at most half of the kernel's reach 2, got 2}}
  %0 = nn.max_pool2d %x {kernel = 2, padding = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: the kernel must fit into the padded axis 2 of tensor<1x2x4x4xf32>, got a reach of 5 for 4}}
  %0 = nn.max_pool2d %x {kernel = 5} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: dilation must be 2 integers >= 1, got [0, 0]}}
  %0 = nn.max_pool2d %x {kernel = 2, dilation = 0} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: layout must be one of NCHW, NHWC, got CHWN}}
  %0 = nn.max_pool2d %x {kernel = 2, layout = "CHWN"} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: ceil_mode must be true or false, got 1 : i64}}
  %0 = nn.max_pool2d %x {kernel = 2, ceil_mode = 1} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: x must have 2 spatial axes, a channel axis and at most one batch axis, got tensor<4x4xf32>}}
  %0 = nn.max_pool2d %x {kernel = 2} : tensor<4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xi32>) {
  // expected-error @+1 {{nn.max_pool2d: elements must be floating, got tensor<1x2x4x4xi32>}}
  %0 = nn.max_pool2d %x {kernel = 2} : tensor<1x2x4x4xi32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x0x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: the kernel must fit into the padded axis 2 of tensor<1x2x0x4xf32>, got a reach of 2 for 0}}
  %0 = nn.max_pool2d %x {kernel = 2} : tensor<1x2x0x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x1x65536x65536xf32>) {
  // expected-error @+1 {{nn.max_pool2d: there must be less than 2**31 places a channel, got tensor<1x1x65536x65536xf32>}}
  %0 = nn.max_pool2d %x {kernel = 2} : tensor<1x1x65536x65536xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: unknown attribute count_include_pad; known: kernel, stride, padding, ceil_mode, layout, dilation}}
  %0 = nn.max_pool2d %x {kernel = 2, count_include_pad = true} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool2d: result type must be tensor<1x2x2x2xf32>, got tensor<1x2x3x3xf32>}}
  %0 = nn.max_pool2d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x3x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{nn.max_pool1d: x must have 1 spatial axes, a channel axis and at most one batch axis, got tensor<1x2x3x4xf32>}}
  %0 = nn.max_pool1d %x {kernel = 2} : tensor<1x2x3x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.max_pool3d: result type must be tensor<1x1x2x2xf32>, got tensor<1x2x2x2xf32>}}
  %0 = nn.max_pool3d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.avg_pool2d: unknown attribute dilation; known: kernel, stride, padding, ceil_mode, layout, count_include_pad}}
  %0 = nn.avg_pool2d %x {kernel = 2, dilation = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.avg_pool2d: count_include_pad must be true or false, got 2 : i64}}
  %0 = nn.avg_pool2d %x {kernel = 2, count_include_pad = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3x1xf32>) {
  // expected-error @+1 {{nn.avg_pool1d: the kernel must fit into the padded axis 1 of tensor<3x1xf32>, got a reach of 2 for 1}}
  %0 = nn.avg_pool1d %x {kernel = 2} : tensor<3x1xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.avg_pool3d: result type must be tensor<1x1x2x2xf32>, got tensor<1x2x2x2xf32>}}
  %0 = nn.avg_pool3d %x {kernel = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.adaptive_avg_pool2d: size must be 2 integers, got nothing}}
  %0 = nn.adaptive_avg_pool2d %x {} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.adaptive_avg_pool2d: size must be 2 integers >= 1, got [1, 0]}}
  %0 = nn.adaptive_avg_pool2d %x {size = [1, 0]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x0x4xf32>) {
  // expected-error @+1 {{nn.adaptive_avg_pool2d: the spatial axes must not be empty, got tensor<1x2x0x4xf32>}}
  %0 = nn.adaptive_avg_pool2d %x {size = 2} : tensor<1x2x0x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{nn.adaptive_avg_pool2d: x must have two spatial axes, a channel axis and at most one batch axis, got tensor<2x4xf32>}}
  %0 = nn.adaptive_avg_pool2d %x {size = 2} : tensor<2x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.resize2d: size must be 2 integers >= 1, got [1, 2, 3]}}
  %0 = nn.resize2d %x {size = [1, 2, 3]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.resize2d: mode must be one of nearest, bilinear, got cubic}}
  %0 = nn.resize2d %x {size = 2, mode = "cubic"} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xi8>) {
  // expected-error @+1 {{nn.resize2d: elements must be floating, got tensor<1x2x4x4xi8>}}
  %0 = nn.resize2d %x {size = 2} : tensor<1x2x4x4xi8> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.pixel_shuffle: factor must be >= 1, got 0}}
  %0 = nn.pixel_shuffle %x {factor = 0} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{nn.pixel_shuffle: channels must be a multiple of factor * factor = 4, got tensor<1x2x4x4xf32>}}
  %0 = nn.pixel_shuffle %x {factor = 2} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{nn.pixel_shuffle: x must have channels and two spatial axes, got tensor<4x4xf32>}}
  %0 = nn.pixel_shuffle %x {factor = 1} : tensor<4x4xf32> -> tensor<1x2x2x2xf32>
  func.return
}
