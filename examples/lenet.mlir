// A small LeNet for digits of 8 x 8 pixels: two convolutions with pooling, two dense layers, 10 classes.
//
//   python examples/digits.py lenet.mlir
//
// trains it. Images come as rows of 64 pixels, as for digits_mlp.mlir. Layout is NCHW, and the
// weights of a convolution are [outputs, inputs, height, width], those of a dense layer [outputs, inputs].

// The mean cross entropy of a batch of 64 images %x and their labels %t.
func.func @main(
    %x: tensor<64x64xf32> {grad.inactive},
    %t: tensor<64xi64>,
    %k1: tensor<16x1x5x5xf32> {grad.name = "k1"}, %c1: tensor<16xf32> {grad.name = "c1"},
    %k2: tensor<32x16x3x3xf32> {grad.name = "k2"}, %c2: tensor<32xf32> {grad.name = "c2"},
    %w3: tensor<64x128xf32> {grad.name = "w3"}, %b3: tensor<64xf32> {grad.name = "b3"},
    %w4: tensor<10x64xf32> {grad.name = "w4"}, %b4: tensor<10xf32> {grad.name = "b4"}
) -> tensor<f32> {
  %logits = func.call @predict(%x, %k1, %c1, %k2, %c2, %w3, %b3, %w4, %b4)
      : (tensor<64x64xf32>, tensor<16x1x5x5xf32>, tensor<16xf32>, tensor<32x16x3x3xf32>,
         tensor<32xf32>, tensor<64x128xf32>, tensor<64xf32>, tensor<10x64xf32>, tensor<10xf32>)
      -> tensor<64x10xf32>
  %loss = nn.cross_entropy %logits, %t : tensor<64x10xf32>, tensor<64xi64> -> tensor<f32>
  func.return %loss : tensor<f32>
}

// The logits of a batch.
func.func @predict(
    %x: tensor<64x64xf32> {grad.inactive},
    %k1: tensor<16x1x5x5xf32>, %c1: tensor<16xf32>,
    %k2: tensor<32x16x3x3xf32>, %c2: tensor<32xf32>,
    %w3: tensor<64x128xf32>, %b3: tensor<64xf32>,
    %w4: tensor<10x64xf32>, %b4: tensor<10xf32>
) -> tensor<64x10xf32> {
  %image = array.reshape %x : tensor<64x64xf32> -> tensor<64x1x8x8xf32>

  // 1 x 8 x 8 -> 16 x 8 x 8 -> 16 x 4 x 4
  %z1 = nn.conv2d %image, %k1, %c1 {padding = [2, 2]}
      : tensor<64x1x8x8xf32>, tensor<16x1x5x5xf32>, tensor<16xf32> -> tensor<64x16x8x8xf32>
  %h1 = nn.relu %z1 : tensor<64x16x8x8xf32>
  %p1 = nn.max_pool2d %h1 {kernel = [2, 2]} : tensor<64x16x8x8xf32> -> tensor<64x16x4x4xf32>

  // -> 32 x 4 x 4 -> 32 x 2 x 2
  %z2 = nn.conv2d %p1, %k2, %c2 {padding = [1, 1]}
      : tensor<64x16x4x4xf32>, tensor<32x16x3x3xf32>, tensor<32xf32> -> tensor<64x32x4x4xf32>
  %h2 = nn.relu %z2 : tensor<64x32x4x4xf32>
  %p2 = nn.max_pool2d %h2 {kernel = [2, 2]} : tensor<64x32x4x4xf32> -> tensor<64x32x2x2xf32>

  // -> 128 -> 64 -> 10
  %flat = array.reshape %p2 : tensor<64x32x2x2xf32> -> tensor<64x128xf32>
  %z3 = nn.linear %flat, %w3, %b3
      : tensor<64x128xf32>, tensor<64x128xf32>, tensor<64xf32> -> tensor<64x64xf32>
  %h3 = nn.relu %z3 : tensor<64x64xf32>
  %logits = nn.linear %h3, %w4, %b4
      : tensor<64x64xf32>, tensor<10x64xf32>, tensor<10xf32> -> tensor<64x10xf32>
  func.return %logits : tensor<64x10xf32>
}
