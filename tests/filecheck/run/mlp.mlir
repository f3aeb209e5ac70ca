// RUN: gradir-run %s --function f --random-inputs 0 | filecheck %s --check-prefix=PRIMAL
// RUN: gradir-run %s -p "gradir-gradient{function=f mode=grad}" --function f_grad --random-inputs 0 | filecheck %s --check-prefix=GRAD
// RUN: gradir-run %s -p "gradir-gradient{function=f mode=grad}" --function f_grad --random-inputs 0 --interpret | filecheck %s --check-prefix=GRAD

func.func @f(%x: tensor<4x3xf64> {grad.inactive}, %w: tensor<5x3xf64>, %b: tensor<5xf64>) -> tensor<f64> {
  %h = nn.linear %x, %w, %b : tensor<4x3xf64>, tensor<5x3xf64>, tensor<5xf64> -> tensor<4x5xf64>
  %y = nn.relu %h : tensor<4x5xf64>
  %t = array.constant {value = dense<[0, 4, 2, 4]> : tensor<4xi64>} : tensor<4xi64>
  %loss = nn.cross_entropy %y, %t : tensor<4x5xf64>, tensor<4xi64> -> tensor<f64>
  func.return %loss : tensor<f64>
}

//      PRIMAL: result0: float64[] = 1.854644  // %loss

//      GRAD: result0: float64[] = 1.854644  // %loss
// GRAD-NEXT: result1: float64[5,3]  // %w_ct
// GRAD-NEXT: {{\[\[}} 0.084694  0.097163 -0.223036]
// GRAD-NEXT:  [ 0.008789  0.060246  0.282284]
// GRAD-NEXT:  [-0.134763  0.091980  0.114505]
// GRAD-NEXT:  [ 0.000000  0.000000  0.000000]
// GRAD-NEXT:  [ 0.089618 -0.240113 -0.288703]]
// GRAD-NEXT: result2: float64[5]  // %b_ct
// GRAD-NEXT: [-0.233579  0.276540  0.145611  0.000000 -0.239310]
