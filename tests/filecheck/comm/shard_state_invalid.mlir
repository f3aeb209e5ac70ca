// RUN: gradir-opt %s -p 'gradir-shard-state{function=step sharded=w,m ranks=2}' --verify-diagnostics --split-input-file

func.func @f_grad(%w: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %loss = array.sum %w : tensor<5xf32> -> tensor<f32>
  func.return %loss, %w : tensor<f32>, tensor<5xf32>
}
func.func @step(%w: tensor<5xf32> {grad.name = "w"}, %m: tensor<5xf32> {grad.name = "m"}) -> (tensor<5xf32>, tensor<5xf32>) {
  %loss, %w_ct = func.call @f_grad(%w) : (tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>)
  // expected-error @+1 {{gradir-shard-state: %m is in parts on 2 ranks, so what reads it must work element by element, got array.sort; shard other arguments}}
  %m1 = array.sort %m : tensor<5xf32>
  func.return %w_ct, %m1 : tensor<5xf32>, tensor<5xf32>
}

// -----

func.func @f_grad(%w: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %loss = array.sum %w : tensor<5xf32> -> tensor<f32>
  func.return %loss, %w : tensor<f32>, tensor<5xf32>
}
// expected-error @+1 {{gradir-shard-state: argument 1 (%m) of @step must have its new value in result 1, got no result for tensor<5xf32>}}
func.func @step(%w: tensor<5xf32> {grad.name = "w"}, %m: tensor<5xf32> {grad.name = "m"}) -> tensor<5xf32> {
  %loss, %w_ct = func.call @f_grad(%w) : (tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>)
  func.return %w_ct : tensor<5xf32>
}

// -----

// expected-error @+1 {{gradir-shard-state: @step must have one call of a function named _grad or _vjp, got none; name the derivative's function with call=}}
func.func @step(%w: tensor<5xf32> {grad.name = "w"}, %m: tensor<5xf32> {grad.name = "m"}) -> (tensor<5xf32>, tensor<5xf32>) {
  func.return %w, %m : tensor<5xf32>, tensor<5xf32>
}
