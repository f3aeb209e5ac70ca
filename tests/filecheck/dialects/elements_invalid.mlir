// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xsi32>) {
  // expected-error @+1 {{array.add: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xsi32>}}
  %0 = array.add %x, %x : tensor<4xsi32>
  func.return
}

// -----

func.func @f(%x: tensor<4xi128>) {
  // expected-error @+1 {{array.sum: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xi128>}}
  %0 = array.sum %x : tensor<4xi128> -> tensor<i128>
  func.return
}

// -----

func.func @f(%x: tensor<4xsi8>) {
  // expected-error @+1 {{array.maximum: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xsi8>}}
  %0 = array.maximum %x, %x : tensor<4xsi8>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{array.astype: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xi24>}}
  %0 = array.astype %x : tensor<4xf32> -> tensor<4xi24>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xi4>}}
  %0 = array.full {value = 1} : tensor<4xi4>
  func.return
}

// -----

func.func @f(%x: tensor<4xcomplex<f16>>) {
  // expected-error @+1 {{array.multiply: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xcomplex<f16>>}}
  %0 = array.multiply %x, %x : tensor<4xcomplex<f16>>
  func.return
}

// -----

func.func @f(%x: tensor<4xf80>) {
  // expected-error @+1 {{array.exp: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xf80>}}
  %0 = array.exp %x : tensor<4xf80>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xindex>) {
  // expected-error @+1 {{array.take: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<4xindex>}}
  %0 = array.take %x, %i : tensor<4xf32>, tensor<4xindex> -> tensor<4xf32>
  func.return
}
