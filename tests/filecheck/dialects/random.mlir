// RUN: gradir-opt %s | filecheck %s
// RUN: GRADIR_ROUNDTRIP
// RUN: gradir-opt %s -p "gradir-gradient{function=dropped}" | filecheck %s --check-prefix=GRAD
// RUN: gradir-run %s --function numbers | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s --function numbers --interpret | filecheck %s --check-prefix=VALUES
// RUN: gradir-run %s --function words --random-inputs 0 | filecheck %s --check-prefix=WORDS

// The first block of key 0 and counter 0 is 6627e8d5 e169c58d bc57ac4c 9b00dbd8 in the paper's
// test vectors: 0x6627e8 / 2**24 = 0.399046.
func.func @numbers() -> (tensor<5xf32>, tensor<2xf64>, tensor<4xbf16>, tensor<2x2xf32>, tensor<8xi1>) {
  %key = array.full {value = 0} : tensor<i64>
  %unit = array.uniform %key, %key : tensor<i64>, tensor<i64> -> tensor<5xf32>
  %double = array.uniform %key, %key : tensor<i64>, tensor<i64> -> tensor<2xf64>
  %range = array.uniform %key, %key {low = -8.0, high = 8.0} : tensor<i64>, tensor<i64> -> tensor<4xbf16>
  %bell = array.normal %key, %key : tensor<i64>, tensor<i64> -> tensor<2x2xf32>
  %ones = array.full {value = 1.0} : tensor<8xf32>
  %y, %mask = nn.dropout %ones, %key, %key {p = 0.5} : tensor<8xf32>, tensor<i64>, tensor<i64> -> (tensor<8xf32>, tensor<8xi1>)
  func.return %unit, %double, %range, %bell, %mask : tensor<5xf32>, tensor<2xf64>, tensor<4xbf16>, tensor<2x2xf32>, tensor<8xi1>
}

// The same block as whole words, and the first numbers of two keys.
func.func @words(%keys: tensor<2xi64>) -> (tensor<4xi32>, tensor<2xi64>, tensor<2x1xf32>) {
  %key = array.full {value = 0} : tensor<i64>
  %counters = array.full {value = 0} : tensor<2xi64>
  %narrow = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<4xi32>
  %wide = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<2xi64>
  %each = array.uniform %counters, %keys : tensor<2xi64>, tensor<2xi64> -> tensor<2x1xf32>
  func.return %narrow, %wide, %each : tensor<4xi32>, tensor<2xi64>, tensor<2x1xf32>
}

func.func @dropped(%x: tensor<2x3xf32>, %key: tensor<i64>, %counter: tensor<i64>) -> tensor<2x3xf32> {
  %y, %mask = nn.dropout %x, %key, %counter {p = 0.2} : tensor<2x3xf32>, tensor<i64>, tensor<i64> -> (tensor<2x3xf32>, tensor<2x3xi1>)
  func.return %y : tensor<2x3xf32>
}

//      CHECK: func.func @numbers() -> (tensor<5xf32>, tensor<2xf64>, tensor<4xbf16>, tensor<2x2xf32>, tensor<8xi1>) {
// CHECK-NEXT:   %key = array.full {value = 0} : tensor<i64>
// CHECK-NEXT:   %unit = array.uniform %key, %key : tensor<i64>, tensor<i64> -> tensor<5xf32>
// CHECK-NEXT:   %double = array.uniform %key, %key : tensor<i64>, tensor<i64> -> tensor<2xf64>
// CHECK-NEXT:   %range = array.uniform %key, %key {low = -8.0, high = 8.0} : tensor<i64>, tensor<i64> -> tensor<4xbf16>
// CHECK-NEXT:   %bell = array.normal %key, %key : tensor<i64>, tensor<i64> -> tensor<2x2xf32>
// CHECK-NEXT:   %ones = array.full {value = 1.0} : tensor<8xf32>
// CHECK-NEXT:   %y, %mask = nn.dropout %ones, %key, %key {p = 0.5} : tensor<8xf32>, tensor<i64>, tensor<i64> -> (tensor<8xf32>, tensor<8xi1>)
// CHECK-NEXT:   func.return %unit, %double, %range, %bell, %mask : tensor<5xf32>, tensor<2xf64>, tensor<4xbf16>, tensor<2x2xf32>, tensor<8xi1>
// CHECK-NEXT: }
//      CHECK: func.func @words(%keys: tensor<2xi64>) -> (tensor<4xi32>, tensor<2xi64>, tensor<2x1xf32>) {
// CHECK-NEXT:   %key = array.full {value = 0} : tensor<i64>
// CHECK-NEXT:   %counters = array.full {value = 0} : tensor<2xi64>
// CHECK-NEXT:   %narrow = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<4xi32>
// CHECK-NEXT:   %wide = array.random_bits %key, %key : tensor<i64>, tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:   %each = array.uniform %counters, %keys : tensor<2xi64>, tensor<2xi64> -> tensor<2x1xf32>
// CHECK-NEXT:   func.return %narrow, %wide, %each : tensor<4xi32>, tensor<2xi64>, tensor<2x1xf32>
// CHECK-NEXT: }
//      CHECK: func.func @dropped(%x: tensor<2x3xf32>, %key: tensor<i64>, %counter: tensor<i64>) -> tensor<2x3xf32> {
// CHECK-NEXT:   %y, %mask = nn.dropout %x, %key, %counter {p = 0.2} : tensor<2x3xf32>, tensor<i64>, tensor<i64> -> (tensor<2x3xf32>, tensor<2x3xi1>)
// CHECK-NEXT:   func.return %y : tensor<2x3xf32>
// CHECK-NEXT: }

//      GRAD: func.func @dropped_fwd(%x: tensor<2x3xf32>, %key: tensor<i64>, %counter: tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
// GRAD-NEXT:   %mask = grad.dropout_mask %key, %counter {p = 0.2} : tensor<i64>, tensor<i64> -> tensor<2x3xi1>
// GRAD-NEXT:   %y = grad.drop %x, %mask {p = 0.2} : tensor<2x3xf32>, tensor<2x3xi1> -> tensor<2x3xf32>
// GRAD-NEXT:   func.return %y, %mask : tensor<2x3xf32>, tensor<2x3xi1>
// GRAD-NEXT: }
//      GRAD: func.func @dropped_bwd(%mask: tensor<2x3xi1>, %y_ct: tensor<2x3xf32>) -> tensor<2x3xf32> {
// GRAD-NEXT:   %x_ct = grad.drop %y_ct, %mask {p = 0.2} : tensor<2x3xf32>, tensor<2x3xi1> -> tensor<2x3xf32>
// GRAD-NEXT:   func.return %x_ct : tensor<2x3xf32>
// GRAD-NEXT: }

//      VALUES: result0: float32[5]  // %unit
// VALUES-NEXT: [0.399046 0.880520 0.735713 0.605482 0.972241]
// VALUES-NEXT: result1: float64[2]  // %double
// VALUES-NEXT: [0.880520 0.605482]
// VALUES-NEXT: result2: bfloat16[4]  // %range
// VALUES-NEXT: [-1.625000  6.062500  3.750000  1.687500]
// VALUES-NEXT: result3: float32[2,2]  // %bell
// VALUES-NEXT: {{\[\[}} 0.991138 -0.924663]
// VALUES-NEXT:  [-0.617609 -0.482069]]
// VALUES-NEXT: result4: bool[8]  // %mask
// VALUES-NEXT: [False  True  True  True  True False  True False]

// 0x6627e8d5 = 1713891541; 0xe169c58d6627e8d5 = -2204013331526194987 as a signed integer
//      WORDS: result0: int32[4]  // %narrow
// WORDS-NEXT: [ 1713891541  -513161843 -1135104948 -1694442536]
// WORDS-NEXT: result1: int64[2]  // %wide
// WORDS-NEXT: [-2204013331526194987 -7277575273911440308]
