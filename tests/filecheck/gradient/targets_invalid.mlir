// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-gradient{function=f wrt=0,w of=0,h}"

// expected-error @+1 {{wrt: @f has 0 arguments, got index 0}}
func.func @f() {
  func.return
}

// -----

// expected-error @+1 {{wrt: 0 of @f must be floating, got tensor<4xi64>}}
func.func @f(%n: tensor<4xi64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  %h = grad.name %w {name = "h"} : tensor<4xf64>
  func.return %h : tensor<4xf64>
}

// -----

// expected-error @+1 {{wrt: no value of @f is named 'w'; names: x, h, %x (set by grad.name or an argument attribute grad.name, or printed)}}
func.func @f(%x: tensor<4xf64> {grad.name = "x"}) -> tensor<4xf64> {
  %h = grad.name %x {name = "h"} : tensor<4xf64>
  func.return %h : tensor<4xf64>
}

// -----

// expected-error @+1 {{wrt: no value of @f is named 'w'; names: %x (set by grad.name or an argument attribute grad.name, or printed)}}
func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{wrt: each value must be given once, got 0 and 'w'}}
func.func @f(%w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  %h = grad.name %w {name = "h"} : tensor<4xf64>
  func.return %h : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  // expected-error @+1 {{grad.name: each name must be given once, got 'w' again}}
  %h = grad.name %x {name = "w"} : tensor<4xf64>
  func.return %h : tensor<4xf64>
}

// -----

// expected-error @+1 {{of: @f has 0 results, got index 0}}
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) {
  func.return
}

// -----

// expected-error @+1 {{of: no value of @f is named 'h'; names: w, %x, %w}}
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{of: 'h' of @f must be floating, got tensor<4xi64>}}
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xf64> {
  %whole = array.astype %x : tensor<4xf64> -> tensor<4xi64>
  %h = grad.name %whole {name = "h"} : tensor<4xi64>
  func.return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{of: 0 of @f must be floating, got tensor<4xi1>}}
func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64> {grad.name = "w"}) -> tensor<4xi1> {
  %h = grad.name %x {name = "h"} : tensor<4xf64>
  %c = array.less %h, %w : tensor<4xf64>, tensor<4xf64> -> tensor<4xi1>
  func.return %c : tensor<4xi1>
}

// -----

func.func @f(%x: f64, %w: f64 {grad.name = "w"}) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (f64) {
    // expected-error @+1 {{grad.name: of: 'h' is in a region of scf.for, whose values cannot be asked for; yield the value and name the result, or name what goes in}}
    %h = grad.name %a {name = "h"} : f64
    %s = arith.mulf %h, %w : f64
    scf.yield %s : f64
  }
  func.return %r : f64
}

// -----

func.func @f(%x: f64) -> f64 {
  %r = scf.execute_region -> f64 {
    %y = grad.checkpoint -> (f64) {
      // expected-error @+1 {{grad.name: wrt: 'w' is in a region of scf.execute_region, whose values cannot be asked for}}
      %w = grad.name %x {name = "w"} : f64
      grad.yield %w : f64
    }
    scf.yield %y : f64
  }
  func.return %r : f64
}
