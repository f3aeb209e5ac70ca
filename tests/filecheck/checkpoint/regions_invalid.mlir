// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @policy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{grad.checkpoint: policy must be one of keep_all, keep_none, keep_matmuls, keep_named, auto, got 'keep'}}
  %y = grad.checkpoint policy "keep" -> (tensor<4xf32>) {
    grad.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @types(%x: tensor<4xf32>) -> tensor<4xf64> {
  // expected-error @+1 {{grad.checkpoint: results of tensor<4xf64> must be yielded, got tensor<4xf32>}}
  %y = grad.checkpoint -> (tensor<4xf64>) {
    grad.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf64>
}

// -----

func.func @terminator(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = grad.checkpoint -> (tensor<4xf32>) {
    // expected-error @+1 {{array.sin: a block of grad.checkpoint must end with a terminator}}
    %a = array.sin %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{grad.checkpoint: the region takes no arguments, got 1; read the values from outside}}
  %y = "grad.checkpoint"() ({
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }) : () -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
