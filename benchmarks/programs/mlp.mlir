// The loss of a 784-256-256-10 network with relu, for a batch of 64.
func.func @main(
    %x: tensor<64x784xf32> {grad.inactive},
    %targets: tensor<64xi64>,
    %w1: tensor<784x256xf32> {grad.name = "w1"},
    %b1: tensor<256xf32> {grad.name = "b1"},
    %w2: tensor<256x256xf32> {grad.name = "w2"},
    %b2: tensor<256xf32> {grad.name = "b2"},
    %w3: tensor<256x10xf32> {grad.name = "w3"},
    %b3: tensor<10xf32> {grad.name = "b3"}) -> tensor<f32> {
  %xw = array.matmul %x, %w1 : tensor<64x784xf32>, tensor<784x256xf32> -> tensor<64x256xf32>
  %b1_rows = array.broadcast_to %b1 : tensor<256xf32> -> tensor<64x256xf32>
  %z1 = array.add %xw, %b1_rows : tensor<64x256xf32>
  %h1 = nn.relu %z1 : tensor<64x256xf32>
  %hw1 = array.matmul %h1, %w2 : tensor<64x256xf32>, tensor<256x256xf32> -> tensor<64x256xf32>
  %b2_rows = array.broadcast_to %b2 : tensor<256xf32> -> tensor<64x256xf32>
  %z2 = array.add %hw1, %b2_rows : tensor<64x256xf32>
  %h2 = nn.relu %z2 : tensor<64x256xf32>
  %hw2 = array.matmul %h2, %w3 : tensor<64x256xf32>, tensor<256x10xf32> -> tensor<64x10xf32>
  %b3_rows = array.broadcast_to %b3 : tensor<10xf32> -> tensor<64x10xf32>
  %logits = array.add %hw2, %b3_rows : tensor<64x10xf32>
  %loss = nn.cross_entropy %logits, %targets {reduction = "mean"} : tensor<64x10xf32>, tensor<64xi64> -> tensor<f32>
  func.return %loss : tensor<f32>
}
