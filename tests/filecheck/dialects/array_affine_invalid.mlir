// RUN: gradir-opt %s --split-input-file --verify-diagnostics

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: subscript 0 must be in [0, 8), got -1 to 7; give a pad for reads outside}}
%y = array.affine_gather %x {map = affine_map<(d0) -> (d0 - 1)>} : tensor<8xf32> -> tensor<9xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_scatter_add: subscript 0 must be in [0, 4), got 0 to 7; set drop = true for sums outside}}
%y = array.affine_scatter_add %x {map = affine_map<(d0) -> (d0)>} : tensor<8xf32> -> tensor<4xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: map must go from 2 dimensions to 1 subscripts, got 1 and 1}}
%y = array.affine_gather %x {map = affine_map<(d0) -> (d0)>} : tensor<8xf32> -> tensor<2x2xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: map must be an affine map, got nothing}}
%y = array.affine_gather %x : tensor<8xf32> -> tensor<8xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: map: }}
%y = array.affine_gather %x {map = affine_map<(d0) -> (d0 floordiv 2)>} : tensor<8xf32> -> tensor<8xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: map must have no symbols}}
%y = array.affine_gather %x {map = affine_map<(d0)[s0] -> (s0)>} : tensor<8xf32> -> tensor<8xf32>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: elements must agree, got tensor<8xf32> and tensor<8xf64>}}
%y = array.affine_gather %x {map = affine_map<(d0) -> (d0)>} : tensor<8xf32> -> tensor<8xf64>

// -----

%x = array.full {value = 1.0} : tensor<8xf32>
// expected-error @+1 {{array.affine_gather: numbers of subscript 0 must stay below 2**40, got [0, 4000000000000]}}
%y = array.affine_gather %x {map = affine_map<(d0) -> (d0 * 4000000000000)>, pad = 0.0} : tensor<8xf32> -> tensor<8xf32>

// -----

%x = array.full {value = 1} : tensor<8xi1>
// expected-error @+1 {{array.affine_scatter_add: elements must be}}
%y = array.affine_scatter_add %x {map = affine_map<(d0) -> (d0)>} : tensor<8xi1> -> tensor<8xi1>
