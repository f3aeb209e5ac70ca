// One block of a causal transformer (pre-norm): 4 heads of 16 over 32 tokens, batch 2, width 64.
//
//   gradir-opt examples/transformer_block.mlir -p 'gradir-gradient{function=main mode=grad}'
//   gradir-run examples/transformer_block.mlir --function main --random-inputs 0
//
// Weights are [outputs, inputs], as PyTorch has them.

// The mean squared distance of the block's output to %target.
func.func @main(
    %x: tensor<2x32x64xf32> {grad.name = "x"}, %target: tensor<2x32x64xf32> {grad.inactive},
    %s1: tensor<64xf32> {grad.name = "s1"}, %b1: tensor<64xf32> {grad.name = "b1"},
    %w_qkv: tensor<192x64xf32> {grad.name = "w_qkv"}, %w_out: tensor<64x64xf32> {grad.name = "w_out"},
    %s2: tensor<64xf32> {grad.name = "s2"}, %b2: tensor<64xf32> {grad.name = "b2"},
    %w_up: tensor<256x64xf32> {grad.name = "w_up"}, %b_up: tensor<256xf32> {grad.name = "b_up"},
    %w_down: tensor<64x256xf32> {grad.name = "w_down"}, %b_down: tensor<64xf32> {grad.name = "b_down"}
) -> tensor<f32> {
  // attention: x1 = x + out(attention(q, k, v)) of the normalized x
  %n1 = nn.layer_norm %x, %s1, %b1
      : tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<2x32x64xf32>
  %qkv = nn.linear %n1, %w_qkv : tensor<2x32x64xf32>, tensor<192x64xf32> -> tensor<2x32x192xf32>
  %split = array.reshape %qkv : tensor<2x32x192xf32> -> tensor<2x32x3x4x16xf32>
  %parts = array.permute_dims %split {axes = [2, 0, 3, 1, 4]}
      : tensor<2x32x3x4x16xf32> -> tensor<3x2x4x32x16xf32>
  %q1, %k1, %v1 = array.split %parts {axis = 0, sizes = [1, 1, 1]}
      : tensor<3x2x4x32x16xf32>
      -> (tensor<1x2x4x32x16xf32>, tensor<1x2x4x32x16xf32>, tensor<1x2x4x32x16xf32>)
  %q = array.squeeze %q1 {axis = 0} : tensor<1x2x4x32x16xf32> -> tensor<2x4x32x16xf32>
  %k = array.squeeze %k1 {axis = 0} : tensor<1x2x4x32x16xf32> -> tensor<2x4x32x16xf32>
  %v = array.squeeze %v1 {axis = 0} : tensor<1x2x4x32x16xf32> -> tensor<2x4x32x16xf32>
  %heads = nn.attention %q, %k, %v {causal = true}
      : tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32>, tensor<2x4x32x16xf32>
      -> tensor<2x4x32x16xf32>
  %rows = array.permute_dims %heads {axes = [0, 2, 1, 3]}
      : tensor<2x4x32x16xf32> -> tensor<2x32x4x16xf32>
  %joined = array.reshape %rows : tensor<2x32x4x16xf32> -> tensor<2x32x64xf32>
  %attended = nn.linear %joined, %w_out
      : tensor<2x32x64xf32>, tensor<64x64xf32> -> tensor<2x32x64xf32>
  %x1 = array.add %x, %attended : tensor<2x32x64xf32>

  // two dense layers: y = x1 + down(gelu(up(x1))) of the normalized x1
  %n2 = nn.layer_norm %x1, %s2, %b2
      : tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<2x32x64xf32>
  %up = nn.linear %n2, %w_up, %b_up
      : tensor<2x32x64xf32>, tensor<256x64xf32>, tensor<256xf32> -> tensor<2x32x256xf32>
  %h = nn.gelu %up : tensor<2x32x256xf32>
  %down = nn.linear %h, %w_down, %b_down
      : tensor<2x32x256xf32>, tensor<64x256xf32>, tensor<64xf32> -> tensor<2x32x64xf32>
  %y = array.add %x1, %down : tensor<2x32x64xf32>

  %loss = nn.mse_loss %y, %target
      : tensor<2x32x64xf32>, tensor<2x32x64xf32> -> tensor<f32>
  func.return %loss : tensor<f32>
}
