// RUN: gradir-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.all_reduce: ranks must be one integer, got nothing}}
  %y = comm.all_reduce %x : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.all_reduce: ranks must be a positive number of 32 bits, got 0}}
  %y = comm.all_reduce %x {ranks = 0} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.all_reduce: kind must be one of sum, mean, max, min, got median}}
  %y = comm.all_reduce %x {kind = "median", ranks = 2} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{comm.all_reduce: elements must be floating, got tensor<4xi64>}}
  %y = comm.all_reduce %x {kind = "mean", ranks = 2} : tensor<4xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{comm.all_reduce: elements must be floating or integer, got tensor<4xi1>}}
  %y = comm.all_reduce %x {ranks = 2} : tensor<4xi1>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.all_reduce: group must be a name of letters, digits and _, got "a b"}}
  %y = comm.all_reduce %x {ranks = 2, group = "a b"} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.broadcast: root must be a rank below 2, got 2}}
  %y = comm.broadcast %x {root = 2, ranks = 2} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<5xf64>) {
  // expected-error @+1 {{comm.part: axis 0 must be in equal parts for 2 ranks, got tensor<5xf64>}}
  %y = comm.part %x {ranks = 2} : tensor<5xf64> -> tensor<2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<5xf64>) {
  // expected-error @+1 {{comm.reduce_scatter: axis 0 must be in equal parts for 2 ranks, got tensor<5xf64>}}
  %y = comm.reduce_scatter %x {ranks = 2} : tensor<5xf64> -> tensor<2xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.all_gather: result type must be tensor<8xf64>, got tensor<4xf64>}}
  %y = comm.all_gather %x {ranks = 2} : tensor<4xf64> -> tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.permute: targets must be different ranks below 2, got [1, 1]}}
  %y = comm.permute %x {sources = [0, 1], targets = [1, 1], ranks = 2} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.permute: sources and targets must be pairs, got 1 and 0}}
  %y = comm.permute %x {sources = [0], ranks = 2} : tensor<4xf64>
  func.return
}

// -----

func.func @f(%x: tensor<4xf64>) {
  // expected-error @+1 {{comm.send: target must be a rank below 2, got -1}}
  %y = comm.send %x {target = -1, ranks = 2} : tensor<4xf64>
  func.return
}

// -----

func.func @f() -> tensor<i32> {
  // expected-error @+1 {{comm.rank: result type must be tensor<i64>, got tensor<i32>}}
  %y = comm.rank : tensor<i32>
  func.return %y : tensor<i32>
}
