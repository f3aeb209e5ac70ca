// RUN: gradir-opt %s --split-input-file -p "gradir-decompose,gradir-dce" | filecheck %s

// A matmul that starts from zeros is a product alone; another start is added.
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %x = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>) outs(%z : tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x4xf32>) outs(%c : tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %x, %y : tensor<2x4xf32>, tensor<2x4xf32>
}

//      CHECK: func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
// CHECK-NEXT:   %x = array.dot_general %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %0 = array.dot_general %a, %b {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT:   %y = arith.addf %c, %0 : tensor<2x4xf32>
// CHECK-NEXT:   func.return %x, %y : tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-NEXT: }

// -----

// A body of arith and math is computed on tensors; operands are spread over the loops.
func.func @f(%x: tensor<3x2xf64>, %b: tensor<2xf64>) -> tensor<2x3xf64> {
  %half = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<2x3xf64>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<3x2xf64>, tensor<2xf64>) outs(%e : tensor<2x3xf64>) {
  ^bb0(%in: f64, %bias: f64, %out: f64):
    %0 = arith.addf %in, %bias : f64
    %1 = math.tanh %0 : f64
    %2 = arith.mulf %1, %half : f64
    linalg.yield %2 : f64
  } -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}

//      CHECK: func.func @f(%x: tensor<3x2xf64>, %b: tensor<2xf64>) -> tensor<2x3xf64> {
// CHECK-NEXT:   %0 = array.permute_dims %x {axes = [1, 0]} : tensor<3x2xf64> -> tensor<2x3xf64>
// CHECK-NEXT:   %1 = array.reshape %b : tensor<2xf64> -> tensor<2x1xf64>
// CHECK-NEXT:   %2 = array.broadcast_to %1 : tensor<2x1xf64> -> tensor<2x3xf64>
// CHECK-NEXT:   %3 = arith.addf %0, %2 : tensor<2x3xf64>
// CHECK-NEXT:   %4 = math.tanh %3 : tensor<2x3xf64>
// CHECK-NEXT:   %5 = arith.constant dense<5.000000e-01> : tensor<2x3xf64>
// CHECK-NEXT:   %y = arith.mulf %4, %5 : tensor<2x3xf64>
// CHECK-NEXT:   func.return %y : tensor<2x3xf64>
// CHECK-NEXT: }

// -----

// Windows read at sums of loops are a convolution, also where no name says so.
func.func @f(%x: tensor<1x8x2xf32>, %w: tensor<3x2x4xf32>, %b: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %y = linalg.generic {
      indexing_maps = [affine_map<(n, o, f, k, c) -> (n, o * 2 + k, c)>, affine_map<(n, o, f, k, c) -> (k, c, f)>,
                       affine_map<(n, o, f, k, c) -> (n, o, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x8x2xf32>, tensor<3x2x4xf32>) outs(%b : tensor<1x3x4xf32>) {
  ^bb0(%in: f32, %weight: f32, %out: f32):
    %0 = arith.mulf %in, %weight : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x3x4xf32>
  func.return %y : tensor<1x3x4xf32>
}

//      CHECK: func.func @f(%x: tensor<1x8x2xf32>, %w: tensor<3x2x4xf32>, %b: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
// CHECK-NEXT:   %0 = array.permute_dims %x {axes = [0, 2, 1]} : tensor<1x8x2xf32> -> tensor<1x2x8xf32>
// CHECK-NEXT:   %1 = array.permute_dims %w {axes = [2, 1, 0]} : tensor<3x2x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT:   %2 = array.slice %0 {start = [0, 0, 0], stop = [1, 2, 7]} : tensor<1x2x8xf32> -> tensor<1x2x7xf32>
// CHECK-NEXT:   %3 = nn.conv1d %2, %1 {stride = [2], dilation = [1], groups = 1} : tensor<1x2x7xf32>, tensor<4x2x3xf32> -> tensor<1x4x3xf32>
// CHECK-NEXT:   %4 = array.permute_dims %3 {axes = [0, 2, 1]} : tensor<1x4x3xf32> -> tensor<1x3x4xf32>
// CHECK-NEXT:   %y = arith.addf %b, %4 : tensor<1x3x4xf32>
// CHECK-NEXT:   func.return %y : tensor<1x3x4xf32>
// CHECK-NEXT: }

// -----

// A body that carries in a way of its own is a loop over the reduced iterations.
func.func @f(%x: tensor<4xf64>, %start: tensor<f64>) -> tensor<f64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<4xf64>) outs(%start : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = arith.mulf %out, %in : f64
    %1 = math.sin %0 : f64
    linalg.yield %1 : f64
  } -> tensor<f64>
  func.return %y : tensor<f64>
}

//      CHECK: func.func @f(%x: tensor<4xf64>, %start: tensor<f64>) -> tensor<f64> {
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %1 = arith.constant 4 : index
// CHECK-NEXT:   %2 = arith.constant 1 : index
// CHECK-NEXT:   %y = scf.for %3 = %0 to %1 step %2 iter_args(%4 = %start) -> (tensor<f64>) {
// CHECK-NEXT:     %5 = arith.index_cast %3 : index to i64
// CHECK-NEXT:     %6 = tensor.from_elements %5 : tensor<i64>
// CHECK-NEXT:     %7 = array.dynamic_slice %x, %6 {sizes = [1]} : tensor<4xf64>, tensor<i64> -> tensor<1xf64>
// CHECK-NEXT:     %8 = array.reshape %7 : tensor<1xf64> -> tensor<f64>
// CHECK-NEXT:     %9 = arith.mulf %4, %8 : tensor<f64>
// CHECK-NEXT:     %10 = math.sin %9 : tensor<f64>
// CHECK-NEXT:     scf.yield %10 : tensor<f64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %y : tensor<f64>
// CHECK-NEXT: }

// -----

// Pools, padding and reshapes.
func.func @f(%x: tensor<1x3x3x2xf32>) -> tensor<1x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %p = tensor.pad %x low[0, 0, 0, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x3x3x2xf32> to tensor<1x4x4x2xf32>
  %e = tensor.empty() : tensor<1x2x2x2xf32>
  %i = linalg.fill ins(%low : f32) outs(%e : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %y = linalg.pooling_nhwc_max {strides = dense<2> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
      ins(%p, %w : tensor<1x4x4x2xf32>, tensor<2x2xf32>) outs(%i : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %r = tensor.collapse_shape %y [[0], [1, 2, 3]] : tensor<1x2x2x2xf32> into tensor<1x8xf32>
  func.return %r : tensor<1x8xf32>
}

//      CHECK: func.func @f(%x: tensor<1x3x3x2xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT:   %p = array.pad %x {low = [0, 0, 0, 0], high = [0, 1, 1, 0], value = 0xfff0000000000000 : f64} : tensor<1x3x3x2xf32> -> tensor<1x4x4x2xf32>
// CHECK-NEXT:   %0 = array.permute_dims %p {axes = [0, 3, 1, 2]} : tensor<1x4x4x2xf32> -> tensor<1x2x4x4xf32>
// CHECK-NEXT:   %1 = nn.max_pool2d %0 {kernel = [2, 2], stride = [2, 2], dilation = [1, 1]} : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   %y = array.permute_dims %1 {axes = [0, 2, 3, 1]} : tensor<1x2x2x2xf32> -> tensor<1x2x2x2xf32>
// CHECK-NEXT:   %r = array.reshape %y : tensor<1x2x2x2xf32> -> tensor<1x8xf32>
// CHECK-NEXT:   func.return %r : tensor<1x8xf32>
// CHECK-NEXT: }
