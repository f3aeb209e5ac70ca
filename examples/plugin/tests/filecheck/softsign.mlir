// RUN: gradir-opt %s -p "gradir-gradient{function=f wrt=x mode=vjp},soft-count" | filecheck %s
// RUN: gradir-run %s --function f --random-inputs 0 | filecheck %s --check-prefix=VALUE

func.func @f(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = soft.softsign %x : tensor<2x3xf64>
  %z = soft.center %y : tensor<2x3xf64>
  func.return %z : tensor<2x3xf64>
}

//      CHECK: func.func @f(%x: tensor<2x3xf64>) -> tensor<2x3xf64> attributes {soft.count = 2 : i64} {
//      CHECK: func.func @f_vjp(%x: tensor<2x3xf64>, %z_ct: tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>) attributes {soft.count = 3 : i64} {
// CHECK-NEXT:   %y = soft.softsign %x : tensor<2x3xf64>
// CHECK-NEXT:   %z = soft.center %y : tensor<2x3xf64>
// CHECK-NEXT:   %y_ct = soft.center %z_ct : tensor<2x3xf64>
//      CHECK:   %x_ct = array.divide %y_ct, %{{.*}} : tensor<2x3xf64>

// VALUE: result0: float64[2,3]
