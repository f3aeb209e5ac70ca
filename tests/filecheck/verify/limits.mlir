// RUN: gradir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{dense: expected at most 16777216 elements, got 1000000000000}}
%c = arith.constant dense<1.0> : tensor<1000000x1000000xf64>

// -----

// expected-error @+1 {{dense: expected at most 16777216 elements, got 1000000000000}}
%c = arith.constant dense<"0x00000000"> : tensor<1000000x1000000xf32>

// -----

// expected-error @+1 {{expected a size of at most 9223372036854775807}}
func.func private @f(tensor<99999999999999999999xf32>)

// -----

// expected-error @+1 {{expected an integer type of at most 16777215 bits}}
%c = arith.constant 1 : i99999999999

// -----

// expected-error @+1 {{brackets are nested too deeply; the limit is 64}}
"test.op"() {a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]} : () -> ()

// -----

!a0 = tuple<i32, i32, i32, i32, i32, i32, i32, i32>
!a1 = tuple<!a0, !a0, !a0, !a0, !a0, !a0, !a0, !a0>
!a2 = tuple<!a1, !a1, !a1, !a1, !a1, !a1, !a1, !a1>
!a3 = tuple<!a2, !a2, !a2, !a2, !a2, !a2, !a2, !a2>
!a4 = tuple<!a3, !a3, !a3, !a3, !a3, !a3, !a3, !a3>
// expected-error @+1 {{alias !a5 stands for too much; the limit is 65536 words}}
!a5 = tuple<!a4, !a4, !a4, !a4, !a4, !a4, !a4, !a4>
"test.op"() : () -> !a5
