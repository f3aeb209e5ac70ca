// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2}' 2>&1 | filecheck %s --check-prefix=VARIES
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2 local=1 deterministic=4}' 2>&1 | filecheck %s --check-prefix=LOCAL
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2 deterministic=6}' 2>&1 | filecheck %s --check-prefix=PARTS
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=4 ranks=2}' 2>&1 | filecheck %s --check-prefix=INDEX
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2 keys=0 local=1}' 2>&1 | filecheck %s --check-prefix=KEY
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=plain shards=0 ranks=2}' 2>&1 | filecheck %s --check-prefix=CALL
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=plain shards=0 ranks=2 call=helper}' 2>&1 | filecheck %s --check-prefix=GRADIENTS
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=0}' 2>&1 | filecheck %s --check-prefix=RANKS
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2 local=1 into=plain}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not gradir-opt %s -p 'gradir-data-parallel{function=step shards=1 ranks=2 local=1 group="a-b"}' 2>&1 | filecheck %s --check-prefix=GROUP

func.func @loss_grad(%w: tensor<3xf32>, %x: tensor<2x3xf32>) -> (tensor<f32>, tensor<2xf32>, tensor<3xf32>) {
  %h = array.matmul %x, %w : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  %sum = array.sum %h : tensor<2xf32> -> tensor<f32>
  %w_ct = array.sum %x {axis = 0} : tensor<2x3xf32> -> tensor<3xf32>
  func.return %sum, %h, %w_ct : tensor<f32>, tensor<2xf32>, tensor<3xf32>
}
func.func @step(%w: tensor<3xf32>, %x: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<f32>) {
  %loss, %h, %w_ct = func.call @loss_grad(%w, %x) : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<f32>, tensor<2xf32>, tensor<3xf32>)
  %w1 = array.subtract %w, %w_ct : tensor<3xf32>
  func.return %w1, %h, %loss : tensor<3xf32>, tensor<2xf32>, tensor<f32>
}
func.func @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  func.return %x : tensor<2x3xf32>
}
func.func @plain(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = func.call @helper(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// VARIES: gradir-data-parallel: result 1 (%h) of @step must be alike on all ranks, and it depends on a shard other than by a gradient; average it in the loss function, or name it with local=
// LOCAL: gradir-data-parallel: result 1 (%h) of @step must be alike on all ranks, and it depends on a shard other than by a gradient; with several shards on a rank there is no one value
// PARTS: gradir-data-parallel: deterministic must be a number of shards of which each of 2 ranks has 1, 2, 4, ..., got 6
// INDEX: shards: @step has 2 arguments, got index 4
// KEY: gradir-data-parallel: argument 0 (%w) of @step is a key and must be a tensor<i64>, got tensor<3xf32>
// CALL: gradir-data-parallel: @plain must have one call of a function named _grad or _vjp that reads shards, got @helper; name the derivative's function with call=
// GRADIENTS: gradir-data-parallel: @helper must return gradients, in the types of operands that are alike on all ranks, behind its other results
// RANKS: gradir-data-parallel: ranks must be positive, got 0
// NAME: gradir-data-parallel: @plain exists already; choose another with into=
// GROUP: gradir-data-parallel: group must be a name of letters, digits and _, got "a-b"
