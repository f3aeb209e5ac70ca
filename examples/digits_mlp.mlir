// A classifier of handwritten digits: 64 pixels, two hidden layers of 128 and 64 units, 10 classes.
//
// Forward programs only. The derivative is made by a pass, the passes for native code follow by
// themselves:
//
//   gradir-opt examples/digits_mlp.mlir -p 'gradir-gradient{function=main mode=grad}'
//   gradir-run examples/digits_mlp.mlir --function main --random-inputs 0
//
// Weights are [inputs, outputs]. grad.name is what `wrt` and tools call an argument by.

// The mean cross entropy of a batch of 64 images %x and their labels %t. The images are data: nothing
// needs a gradient with respect to them, so that the backward part ends at the first layer's weights.
func.func @main(
    %x: tensor<64x64xf32> {grad.inactive},
    %t: tensor<64xi64>,
    %w1: tensor<64x128xf32> {grad.name = "w1"}, %b1: tensor<128xf32> {grad.name = "b1"},
    %w2: tensor<128x64xf32> {grad.name = "w2"}, %b2: tensor<64xf32> {grad.name = "b2"},
    %w3: tensor<64x10xf32> {grad.name = "w3"}, %b3: tensor<10xf32> {grad.name = "b3"}
) -> tensor<f32> {
  %logits = func.call @predict(%x, %w1, %b1, %w2, %b2, %w3, %b3)
      : (tensor<64x64xf32>, tensor<64x128xf32>, tensor<128xf32>, tensor<128x64xf32>,
         tensor<64xf32>, tensor<64x10xf32>, tensor<10xf32>) -> tensor<64x10xf32>
  %loss = nn.cross_entropy %logits, %t : tensor<64x10xf32>, tensor<64xi64> -> tensor<f32>
  func.return %loss : tensor<f32>
}

// The logits of a batch: its largest one is the digit that an image shows.
func.func @predict(
    %x: tensor<64x64xf32> {grad.inactive},
    %w1: tensor<64x128xf32>, %b1: tensor<128xf32>,
    %w2: tensor<128x64xf32>, %b2: tensor<64xf32>,
    %w3: tensor<64x10xf32>, %b3: tensor<10xf32>
) -> tensor<64x10xf32> {
  // first hidden layer: h1 = relu(x w1 + b1)
  %xw1 = array.matmul %x, %w1 : tensor<64x64xf32>, tensor<64x128xf32> -> tensor<64x128xf32>
  %b1_rows = array.broadcast_to %b1 : tensor<128xf32> -> tensor<64x128xf32>
  %z1 = array.add %xw1, %b1_rows : tensor<64x128xf32>
  %h1 = nn.relu %z1 : tensor<64x128xf32>

  // second hidden layer: h2 = relu(h1 w2 + b2)
  %h1w2 = array.matmul %h1, %w2 : tensor<64x128xf32>, tensor<128x64xf32> -> tensor<64x64xf32>
  %b2_rows = array.broadcast_to %b2 : tensor<64xf32> -> tensor<64x64xf32>
  %z2 = array.add %h1w2, %b2_rows : tensor<64x64xf32>
  %h2 = nn.relu %z2 : tensor<64x64xf32>

  // output: logits = h2 w3 + b3
  %h2w3 = array.matmul %h2, %w3 : tensor<64x64xf32>, tensor<64x10xf32> -> tensor<64x10xf32>
  %b3_rows = array.broadcast_to %b3 : tensor<10xf32> -> tensor<64x10xf32>
  %logits = array.add %h2w3, %b3_rows : tensor<64x10xf32>
  func.return %logits : tensor<64x10xf32>
}
