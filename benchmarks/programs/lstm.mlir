// An LSTM over 256 steps of a batch of 16, 64 inputs and 64 units; the sum of its last state.
func.func @main(
    %xs: tensor<256x16x64xf32>, %w_ih: tensor<256x64xf32>, %w_hh: tensor<256x64xf32>,
    %b_ih: tensor<256xf32>, %b_hh: tensor<256xf32>
) -> tensor<f32> {
  %first = arith.constant 0 : index
  %steps = arith.constant 256 : index
  %one = arith.constant 1 : index
  %zero = array.full {value = 0.0} : tensor<16x64xf32>
  %h, %c = scf.for %t = %first to %steps step %one iter_args(%h1 = %zero, %c1 = %zero)
      -> (tensor<16x64xf32>, tensor<16x64xf32>) {
    %x = tensor.extract_slice %xs[%t, 0, 0] [1, 16, 64] [1, 1, 1]
        : tensor<256x16x64xf32> to tensor<16x64xf32>
    %h2, %c2 = nn.lstm_cell %x, %h1, %c1, %w_ih, %w_hh, %b_ih, %b_hh
        : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<256x64xf32>,
          tensor<256x64xf32>, tensor<256xf32>, tensor<256xf32>
        -> (tensor<16x64xf32>, tensor<16x64xf32>)
    scf.yield %h2, %c2 : tensor<16x64xf32>, tensor<16x64xf32>
  }
  %sum = array.sum %h : tensor<16x64xf32> -> tensor<f32>
  func.return %sum : tensor<f32>
}
