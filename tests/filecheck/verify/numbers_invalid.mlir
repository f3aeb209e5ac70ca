// RUN: gradir-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// What is not one of the floating types, and numbers that do not fit theirs.

func.func @f(%x: f128) -> f128 {
  // expected-error @+1 {{arith.constant: floating types must be f64, f32, f16 or bf16, got f128}}
  %half = arith.constant 0.5 : f128
  func.return %half : f128
}

// -----

func.func @f(%x: f64) {
  // expected-error @+1 {{arith.extf: floating types must be f64, f32, f16 or bf16, got f80}}
  %y = arith.extf %x : f64 to f80
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{dense: floating types must be f64, f32, f16 or bf16, got tensor<2xf128>}}
  %y = arith.constant dense<0.5> : tensor<2xf128>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{foo.bar: floating types must be f64, f32, f16 or bf16, got f128}}
  "foo.bar"() {numbers = [0.5 : f128]} : () -> ()
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{arith.constant: value must be an index of 64 bits, got 18446744073709551616}}
  %c = arith.constant 18446744073709551616 : index
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{arith.constant: value must be an index of 64 bits, got -9223372036854775809}}
  %c = arith.constant -9223372036854775809 : index
  func.return
}

// -----

// numbers in the dictionary of an argument
// expected-error @+1 {{func.func: floating types must be f64, f32, f16 or bf16, got f128}}
func.func @in_a_dictionary(%x: tensor<f64> {my.attribute = {c = [1.0 : f128]}}) -> tensor<f64> {
  func.return %x : tensor<f64>
}
