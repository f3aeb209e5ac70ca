builtin.module {
  func.func @rows(%E: tensor<9x2xf64>, %i: tensor<3xi64>, %j: tensor<3xi64>) -> (tensor<6xi64>, tensor<6x2xf64>) {
    %a = array.take %E, %i {axis = 0} : tensor<9x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
    %b = array.take %E, %j {axis = 0} : tensor<9x2xf64>, tensor<3xi64> -> tensor<3x2xf64>
    %y_autogen_grad = array.full {value = 1.0} : tensor<3x2xf64>
    %a_grad = array.multiply %y_autogen_grad, %b : tensor<3x2xf64>
    %b_grad = array.multiply %y_autogen_grad, %a : tensor<3x2xf64>
    %E_grad_indices = array.concat %j, %i {axis = 0} : tensor<3xi64>, tensor<3xi64> -> tensor<6xi64>
    %E_grad_values = array.concat %b_grad, %a_grad {axis = 0} : tensor<3x2xf64>, tensor<3x2xf64> -> tensor<6x2xf64>
    func.return %E_grad_indices, %E_grad_values : tensor<6xi64>, tensor<6x2xf64>
  }
}
