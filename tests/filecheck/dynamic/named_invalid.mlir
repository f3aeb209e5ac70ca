// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-specialize{function=f shapes=4x3,2}"

// expected-error @+1 {{@f: argument y has shape (2,), expected (n,) with n = 4 (from argument x)}}
func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "n">) {
  func.return
}

// -----

// expected-error @+1 {{@f: argument x: no argument says what m is, got (m*n, 3); one must have it as an extent of its own}}
func.func @f(%x: tensor<?x3xf64, "n*m">, %y: tensor<?xf64, "n">) {
  func.return
}

// -----

// expected-error @+1 {{@f is a program for m != 2, got m = 2; trace it for that shape}}
func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) attributes {grad.requires = ["m != 2"]} {
  func.return
}

// -----

func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) -> tensor<?xf64, "m - n"> {
  // expected-error @+1 {{%z: an extent must be >= 0, got m - n for n = 4, m = 2}}
  %z = array.full {value = 1.0} : tensor<?xf64, "m - n">
  func.return %z : tensor<?xf64, "m - n">
}

// -----

func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) {
  // expected-error @+1 {{no argument says what k is, got 2*k}}
  %k = grad.extent "2*k" : index
  func.return
}

// -----

// expected-error @+1 {{%x: each ? must have a name, got "n" for 2}}
func.func @f(%x: tensor<?x?xf64, "n">, %y: tensor<?xf64, "m">) {
  func.return
}

// -----

// expected-error @+1 {{%x: an extent must be names and integers with +, -, * and //, got n**2}}
func.func @f(%x: tensor<?x3xf64, "n**2">, %y: tensor<?xf64, "m">) {
  func.return
}

// -----

func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) {
  // expected-error @+1 {{grad.extent: result type must be index or tensor<i64>, got tensor<f64>}}
  %k = grad.extent "n" : tensor<f64>
  func.return
}

// -----

// expected-error @+1 {{grad.requires: must be a list of conditions such as ["n >= 2", "n != 1"], got ["n = 2"]}}
func.func @f(%x: tensor<?x3xf64, "n">, %y: tensor<?xf64, "m">) attributes {grad.requires = ["n = 2"]} {
  func.return
}
