builtin.module {
  func.func @branch(%c: tensor<i1>, %x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = tensor.extract %c[] : tensor<i1>
    %x_1, %1 = scf.if %0 -> (tensor<f64>, tensor<f64>) {
      %2 = array.exp %x : tensor<f64>
      scf.yield %2, %2 : tensor<f64>, tensor<f64>
    } else {
      %3 = tensor.empty() : tensor<f64>
      scf.yield %x, %3 : tensor<f64>, tensor<f64>
    }
    %x_autogen_grad = array.full {value = 1.0} : tensor<f64>
    %x_grad = scf.if %0 -> (tensor<f64>) {
      %4 = array.multiply %x_autogen_grad, %1 : tensor<f64>
      scf.yield %4 : tensor<f64>
    } else {
      scf.yield %x_autogen_grad : tensor<f64>
    }
    func.return %x_1, %x_grad : tensor<f64>, tensor<f64>
  }
}
