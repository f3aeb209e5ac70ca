builtin.module {
  func.func @loop(%x: tensor<f64>, %end: tensor<f64>, %w: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = array.less %x, %end : tensor<f64>, tensor<f64> -> tensor<i1>
    %1 = grad.tape_new : !grad.tape<tensor<f64>>
    %2 = arith.constant 0 : index
    %x_1, %3, %4 = scf.while (%5 = %0, %6 = %x, %7 = %2, %8 = %1) : (tensor<i1>, tensor<f64>, index, !grad.tape<tensor<f64>>) -> (tensor<f64>, index, !grad.tape<tensor<f64>>) {
      %9 = tensor.extract %5[] : tensor<i1>
      scf.condition(%9) %6, %7, %8 : tensor<f64>, index, !grad.tape<tensor<f64>>
    } do {
    ^bb0(%10: tensor<f64>, %11: index, %12: !grad.tape<tensor<f64>>):
      %13 = array.multiply %10, %w : tensor<f64>
      %14 = array.less %13, %end : tensor<f64>, tensor<f64> -> tensor<i1>
      %15 = grad.tape_push %12, %10 : !grad.tape<tensor<f64>>
      %16 = arith.constant 1 : index
      %17 = arith.addi %11, %16 : index
      scf.yield %14, %13, %17, %15 : tensor<i1>, tensor<f64>, index, !grad.tape<tensor<f64>>
    }
    %x_autogen_grad = array.full {value = 1.0} : tensor<f64>
    %18 = grad.zero : tensor<f64>
    %19 = arith.constant 1 : index
    %20, %w_grad, %21 = scf.for %22 = %2 to %3 step %19 iter_args(%23 = %x_autogen_grad, %24 = %18, %25 = %4) -> (tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>) {
      %26, %27 = grad.tape_pop %25 : !grad.tape<tensor<f64>>
      %28 = array.multiply %23, %w : tensor<f64>
      %29 = array.multiply %23, %27 : tensor<f64>
      %30 = grad.accumulate %24, %29 : tensor<f64>
      scf.yield %28, %30, %26 : tensor<f64>, tensor<f64>, !grad.tape<tensor<f64>>
    }
    func.return %x_1, %w_grad : tensor<f64>, tensor<f64>
  }
}
