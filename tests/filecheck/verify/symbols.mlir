// RUN: gradir-opt %s --split-input-file --verify-diagnostics

// expected-note @+1 {{@f is defined here}}
func.func @f() {
  func.return
}
// expected-error @+1 {{func.func: symbol @f is already defined}}
func.func @f() {
  func.return
}

// -----

func.func @caller() {
  // expected-error @+1 {{func.call: callee must be a function, got @nothing, which is not defined}}
  func.call @nothing() : () -> ()
  func.return
}

// -----

builtin.module @inner {
}
func.func @caller() {
  // expected-error @+1 {{func.call: callee must be a function, got @inner, which is a builtin.module}}
  func.call @inner() : () -> ()
  func.return
}

// -----

// expected-note @+1 {{@callee is defined here}}
func.func private @callee(f64, f64) -> f64
func.func @caller(%x: f64) {
  // expected-error @+1 {{func.call: @callee has 2 operand(s), got 1}}
  %y = func.call @callee(%x) : (f64) -> f64
  func.return
}

// -----

// expected-note @below {{@callee is defined here}}
func.func private @callee(f64) -> f64
func.func @caller(%x: f32) {
  // expected-error @below {{func.call: operand 0 of @callee must be f64, got f32}}
  %y = func.call @callee(%x) : (f32) -> f64
  func.return
}

// -----

func.func private @callee(f64) -> f64
// expected-note @above {{@callee is defined here}}
func.func @caller(%x: f64) {
  %y = func.call @callee(%x) : (f64) -> f32
  // expected-error @above {{func.call: result 0 of @callee must be f64, got f32}}
  func.return
}

// -----

// A call sees the functions of its own module only.
func.func private @outer()
builtin.module {
  func.func @caller() {
    // expected-error @+1 {{got @outer, which is not defined}}
    func.call @outer() : () -> ()
    func.return
  }
}

// -----

func.func @caller() {
  // expected-error @+1 {{func.call: callee must be the name of a function}}
  "func.call"() : () -> ()
  func.return
}
