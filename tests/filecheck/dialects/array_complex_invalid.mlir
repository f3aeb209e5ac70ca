// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3xf16>) {
  // expected-error @+1 {{array.complex: elements must be f32 or f64, got tensor<3xf16>; convert with array.astype}}
  %y = array.complex %x, %x : tensor<3xf16>, tensor<3xf16> -> tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{array.complex: operand types must be equal, got tensor<3xf32> and tensor<3xf64>}}
  %z = array.complex %x, %y : tensor<3xf32>, tensor<3xf64> -> tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{array.real: elements must be complex, got tensor<3xf32>}}
  %y = array.real %x : tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<f64>>) {
  // expected-error @+1 {{array.imag: result type must be tensor<3xf64>, got tensor<3xf32>}}
  %y = array.imag %x : tensor<3xcomplex<f64>> -> tensor<3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<f64>>) {
  // expected-error @+1 {{array.less: elements must be real, got tensor<3xcomplex<f64>>; take array.real, array.imag or array.abs}}
  %y = array.less %x, %x : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>> -> tensor<3xi1>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<f64>>) {
  // expected-error @+1 {{nn.relu: elements must be real, got tensor<3xcomplex<f64>>; take array.real, array.imag or array.abs}}
  %y = nn.relu %x : tensor<3xcomplex<f64>>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<f64>>) {
  // expected-error @+1 {{array.astype: complex numbers become no tensor<3xf64>; take array.real, array.imag or array.abs}}
  %y = array.astype %x : tensor<3xcomplex<f64>> -> tensor<3xf64>
  func.return
}

// -----

func.func @f() {
  // expected-error @+1 {{array.full: imag must be absent for real elements, got tensor<3xf64>}}
  %y = array.full {value = 1.0, imag = 2.0} : tensor<3xf64>
  func.return
}

// -----

func.func @f(%x: tensor<3x0xcomplex<f64>>) {
  // expected-error @+1 {{array.fft: the axis must not be empty, got axis 1 of tensor<3x0xcomplex<f64>>}}
  %y = array.fft %x : tensor<3x0xcomplex<f64>>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<f64>>) {
  // expected-error @+1 {{array.fft: axis must be in [-1, 1), got 1}}
  %y = array.fft %x {axis = 1} : tensor<3xcomplex<f64>>
  func.return
}

// -----

func.func @f(%x: tensor<3xcomplex<i32>>) {
  // expected-error @+1 {{array.add: elements must be f64, f32, f16, bf16, i64, i32, i16, i8, ui64, ui32, ui16, ui8, i1, complex<f64> or complex<f32>, got tensor<3xcomplex<i32>>}}
  %y = array.add %x, %x : tensor<3xcomplex<i32>>
  func.return
}
