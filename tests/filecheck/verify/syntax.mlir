// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @undefined(%x: f64) -> f64 {
  // expected-error @+1 {{%nowhere is used but not defined}}
  %y = arith.addf %x, %nowhere : f64
  func.return %y : f64
}

// -----

// A later function does not define it.
func.func @undefined(%x: f64) -> f64 {
  // expected-error @+1 {{%later is used but not defined}}
  %y = arith.addf %x, %later : f64
  func.return %y : f64
}
func.func @next(%later: f64) {
  func.return
}

// -----

func.func @twice(%x: f64) {
  %y = arith.addf %x, %x : f64
  // expected-error @+1 {{SSA value %y is already defined}}
  %y = arith.addf %x, %x : f64
  func.return
}

// -----

func.func @misspelt(%x: f64) {
  // expected-error @+1 {{unknown operation 'arith.adf'; did you mean 'arith.addf'?}}
  %y = arith.adf %x, %x : f64
  func.return
}

// -----

// expected-error @+1 {{unknown dialect 'nowhere' of operation 'nowhere.op'}}
"nowhere.op"() : () -> ()

// -----

// What is missing at the end of a line is reported there.
func.func @missing_type(%x: f64) {
  // expected-error @+1 {{Expected ':'}}
  %y = arith.addf %x, %x  // a comment
  func.return
}

// -----

func.func @stray(%x: f64) {
  // expected-error @+1 {{expected an operation, a block label or '}', got ']'}}
  ]
}

// -----

// expected-error @+1 {{expected an operation, got '->'}}
->

// -----

func.func @unclosed(%x: f64) {
  // expected-error @+1 {{expected an operation, a block label or '}', got the end of the file}}
  func.return

// -----

// expected-error @+1 {{expected a string that ends on its line}}
"test.op"() {name = "never closed, on a line so long that the lexer would run for ever} : () -> ()

// -----

func.func @blocks() {
  cf.br ^a
^a:
  cf.br ^a
// expected-error @+1 {{re-declaration of block 'a'}}
^a:
  func.return
}

// -----

// expected-error @+1 {{Integer value 300 is out of range for type i8}}
%c = arith.constant 300 : i8

// -----

// expected-error @+1 {{unexpected character é; outside strings and comments only ASCII is allowed}}
é

// -----

// Strings and comments may hold any text: é.
"test.op"() {name = "é"} : () -> ()
