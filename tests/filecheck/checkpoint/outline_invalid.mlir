// RUN: gradir-opt %s --split-input-file --verify-diagnostics -p "gradir-outline-checkpoints"

func.func @no_end(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{grad.start_checkpoint: the stage must end with grad.end_checkpoint, got no end of what is computed from %a}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  // expected-note @+1 {{the last op of the stage is this func.return}}
  func.return %b : tensor<4xf32>
}

// -----

func.func @no_end_of_the_outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{grad.start_checkpoint: the stage must end with grad.end_checkpoint, got no end of what is computed from %a}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  %c = grad.start_checkpoint %b : tensor<4xf32>
  %d = array.sin %c : tensor<4xf32>
  %e = grad.end_checkpoint %d : tensor<4xf32>
  // expected-note @+1 {{the last op of the stage is this func.return}}
  func.return %e : tensor<4xf32>
}

// -----

func.func @unused_start(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{grad.start_checkpoint: the stage must end with grad.end_checkpoint, got no end of what is computed from %a}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// -----

func.func @no_start(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{%a is defined here}}
  %a = array.sin %x : tensor<4xf32>
  // expected-error @+1 {{grad.end_checkpoint: a stage must begin with grad.start_checkpoint, got %a, which is not computed from one, or was ended already}}
  %b = grad.end_checkpoint %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

func.func @ended_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = grad.start_checkpoint %x : tensor<4xf32>
  // expected-note @+1 {{%b is defined here}}
  %b = grad.end_checkpoint %a : tensor<4xf32>
  // expected-error @+1 {{grad.end_checkpoint: a stage must begin with grad.start_checkpoint, got %b, which is not computed from one, or was ended already}}
  %c = grad.end_checkpoint %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note @+1 {{the stage starts here, with %a}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  // expected-note @+1 {{and ends here, with %c}}
  %c = grad.end_checkpoint %b : tensor<4xf32>
  %d = array.cos %b : tensor<4xf32>
  // expected-error @+1 {{func.return: a stage is left through grad.end_checkpoint, got %d, which leaks around the end; end it too}}
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @around_the_end(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{the stage starts here, with %a}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  %b = array.sin %a : tensor<4xf32>
  // expected-note @+1 {{and ends here, with %c}}
  %c = grad.end_checkpoint %b : tensor<4xf32>
  %d = array.exp %c : tensor<4xf32>
  // expected-error @+1 {{array.multiply: a stage is left through grad.end_checkpoint, got %b, which leaks around the end; end it too}}
  %e = array.multiply %d, %b : tensor<4xf32>
  %f = grad.end_checkpoint %e : tensor<4xf32>
  func.return %f : tensor<4xf32>
}

// -----

func.func @crossing(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @+1 {{grad.start_checkpoint: stages must nest or follow each other, got 2 that need each other's results}}
  %a = grad.start_checkpoint %x : tensor<4xf32>
  // expected-note @+1 {{the stage starts here, with %b}}
  %b = grad.start_checkpoint %y : tensor<4xf32>
  %c = array.sin %a : tensor<4xf32>
  // expected-note @+1 {{and ends here, with %d}}
  %d = grad.end_checkpoint %c : tensor<4xf32>
  %e = array.sin %b : tensor<4xf32>
  // expected-note @+1 {{and ends here, with %f}}
  %f = grad.end_checkpoint %e : tensor<4xf32>
  %g = array.add %d, %b : tensor<4xf32>
  %h = grad.end_checkpoint %g : tensor<4xf32>
  %i = array.add %f, %a : tensor<4xf32>
  %j = grad.end_checkpoint %i : tensor<4xf32>
  func.return %h, %j : tensor<4xf32>, tensor<4xf32>
}

// -----

// A stage inside of a loop ends in the loop.
func.func @across_a_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %s = grad.start_checkpoint %x : tensor<4xf32>
  %y = scf.for %i = %zero to %n step %one iter_args(%c = %s) -> (tensor<4xf32>) {
    // expected-note @+1 {{%d is defined here}}
    %d = array.sin %c : tensor<4xf32>
    // expected-error @+1 {{grad.end_checkpoint: a stage must begin with grad.start_checkpoint, got %d, which is not computed from one, or was ended already}}
    %e = grad.end_checkpoint %d : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
