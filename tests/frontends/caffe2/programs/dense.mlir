builtin.module {
  func.func @dense(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %b: tensor<2xf32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<2xf32>) {
    %y = nn.linear %x, %w, %b : tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xf32> -> tensor<4x2xf32>
    %0 = grad.tanh_point %y : tensor<4x2xf32>
    %y_1 = grad.tanh_at %0 : tensor<4x2xf32>
    %loss = array.sum %y_1 : tensor<4x2xf32> -> tensor<f32>
    %loss_autogen_grad = array.full {value = 1.0} : tensor<f32>
    %1 = array.reshape %loss_autogen_grad : tensor<f32> -> tensor<1x1xf32>
    %y_grad = array.broadcast_to %1 : tensor<1x1xf32> -> tensor<4x2xf32>
    %2 = grad.tanh_slope_at %0 : tensor<4x2xf32>
    %y_grad_1 = array.multiply %y_grad, %2 : tensor<4x2xf32>
    %3 = array.permute_dims %y_grad_1 {axes = [1, 0]} : tensor<4x2xf32> -> tensor<2x4xf32>
    %w_grad = array.matmul %3, %x : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
    %b_grad = array.sum %y_grad_1 {axis = 0} : tensor<4x2xf32> -> tensor<2xf32>
    func.return %loss, %w_grad, %b_grad : tensor<f32>, tensor<2x3xf32>, tensor<2xf32>
  }
}
