// RUN: gradir-opt %s -p "gradir-gradient{function=f wrt=2,0 mode=vjp}" | filecheck %s --check-prefix=WRT
// RUN: gradir-opt %s -p "gradir-gradient{function=f wrt=w,h of=h,h,0 mode=vjp}" | filecheck %s --check-prefix=NAMES
// RUN: gradir-opt %s -p "gradir-gradient{function=f of=1 wrt=0 mode=grad}" | filecheck %s --check-prefix=OF
// RUN: gradir-opt %s -p 'gradir-gradient{function=f req="w=null,0=write" mode=vjp}' | filecheck %s --check-prefix=NULL
// RUN: gradir-opt %s -p "gradir-gradient{function=f wrt=0 of=h mode=split}" | filecheck %s --check-prefix=SEED

// wrt in the order asked for; names from grad.name and from argument attributes; a seed on an
// intermediate adds to what flows from below; a value given several times is seeded several times.
func.func @f(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<4xf64>) {
  %product = array.multiply %x, %w : tensor<4xf64>
  %h = grad.name %product {name = "h"} : tensor<4xf64>
  %y = array.sin %h : tensor<4xf64>
  %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
  func.return %sum, %y : tensor<f64>, tensor<4xf64>
}

//      WRT: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}, %sum_ct: tensor<f64>, %y_ct: tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// WRT-NEXT:   %product = array.multiply %x, %w : tensor<4xf64>
// WRT-NEXT:   %h = grad.name %product {name = "h"} : tensor<4xf64>
// WRT-NEXT:   %y = array.sin %h : tensor<4xf64>
// WRT-NEXT:   %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
// WRT-NEXT:   %0 = array.reshape %sum_ct : tensor<f64> -> tensor<1xf64>
// WRT-NEXT:   %y_ct_1 = array.broadcast_to %0 : tensor<1xf64> -> tensor<4xf64>
// WRT-NEXT:   %y_ct_2 = grad.accumulate %y_ct, %y_ct_1 : tensor<4xf64>
// WRT-NEXT:   %1 = array.cos %h : tensor<4xf64>
// WRT-NEXT:   %h_ct = array.multiply %y_ct_2, %1 : tensor<4xf64>
// WRT-NEXT:   %x_ct = array.multiply %h_ct, %w : tensor<4xf64>
// WRT-NEXT:   %w_ct = array.multiply %h_ct, %x : tensor<4xf64>
// WRT-NEXT:   func.return %sum, %y, %w_ct, %x_ct : tensor<f64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// WRT-NEXT: }

//      NAMES: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}, %h_ct: tensor<4xf64>, %h_ct_1: tensor<4xf64>, %sum_ct: tensor<f64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// NAMES-NEXT:   %product = array.multiply %x, %w : tensor<4xf64>
// NAMES-NEXT:   %h = grad.name %product {name = "h"} : tensor<4xf64>
// NAMES-NEXT:   %y = array.sin %h : tensor<4xf64>
// NAMES-NEXT:   %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
// NAMES-NEXT:   %0 = array.reshape %sum_ct : tensor<f64> -> tensor<1xf64>
// NAMES-NEXT:   %y_ct = array.broadcast_to %0 : tensor<1xf64> -> tensor<4xf64>
// NAMES-NEXT:   %1 = array.cos %h : tensor<4xf64>
// NAMES-NEXT:   %h_ct_2 = array.multiply %y_ct, %1 : tensor<4xf64>
// NAMES-NEXT:   %h_ct_3 = grad.accumulate %h_ct, %h_ct_1, %h_ct_2 : tensor<4xf64>
// NAMES-NEXT:   %w_ct = array.multiply %h_ct_3, %x : tensor<4xf64>
// NAMES-NEXT:   func.return %sum, %y, %w_ct, %h_ct_3 : tensor<f64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
// NAMES-NEXT: }

//      OF: func.func @f_grad(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>) {
// OF-NEXT:   %product = array.multiply %x, %w : tensor<4xf64>
// OF-NEXT:   %h = grad.name %product {name = "h"} : tensor<4xf64>
// OF-NEXT:   %y = array.sin %h : tensor<4xf64>
// OF-NEXT:   %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
// OF-NEXT:   %h_ct = array.cos %h : tensor<4xf64>
// OF-NEXT:   %x_ct = array.multiply %h_ct, %w : tensor<4xf64>
// OF-NEXT:   func.return %sum, %y, %x_ct : tensor<f64>, tensor<4xf64>, tensor<4xf64>
// OF-NEXT: }

//      NULL: func.func @f_vjp(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}, %sum_ct: tensor<f64>, %y_ct: tensor<4xf64>) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>) {
// NULL-NEXT:   %product = array.multiply %x, %w : tensor<4xf64>
// NULL-NEXT:   %h = grad.name %product {name = "h"} : tensor<4xf64>
// NULL-NEXT:   %y = array.sin %h : tensor<4xf64>
// NULL-NEXT:   %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
// NULL-NEXT:   %0 = array.reshape %sum_ct : tensor<f64> -> tensor<1xf64>
// NULL-NEXT:   %y_ct_1 = array.broadcast_to %0 : tensor<1xf64> -> tensor<4xf64>
// NULL-NEXT:   %y_ct_2 = grad.accumulate %y_ct, %y_ct_1 : tensor<4xf64>
// NULL-NEXT:   %1 = array.cos %h : tensor<4xf64>
// NULL-NEXT:   %h_ct = array.multiply %y_ct_2, %1 : tensor<4xf64>
// NULL-NEXT:   %x_ct = array.multiply %h_ct, %w : tensor<4xf64>
// NULL-NEXT:   func.return %sum, %y, %x_ct : tensor<f64>, tensor<4xf64>, tensor<4xf64>
// NULL-NEXT: }

//      SEED: func.func @f_fwd(%x: tensor<4xf64>, %n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}) -> (tensor<f64>, tensor<4xf64>, tensor<4xf64>) {
// SEED-NEXT:   %product = array.multiply %x, %w : tensor<4xf64>
// SEED-NEXT:   %h = grad.name %product {name = "h"} : tensor<4xf64>
// SEED-NEXT:   %y = array.sin %h : tensor<4xf64>
// SEED-NEXT:   %sum = array.sum %y : tensor<4xf64> -> tensor<f64>
// SEED-NEXT:   func.return %sum, %y, %w : tensor<f64>, tensor<4xf64>, tensor<4xf64>
// SEED-NEXT: }
//      SEED: func.func @f_bwd(%w: tensor<4xf64>, %h_ct: tensor<4xf64>) -> tensor<4xf64> {
// SEED-NEXT:   %x_ct = array.multiply %h_ct, %w : tensor<4xf64>
// SEED-NEXT:   func.return %x_ct : tensor<4xf64>
// SEED-NEXT: }
