// make fuzz LEVEL=tensor CASE=50000021 (of an earlier generator)
// bits under a limit
// [["limits"], 50000021, true]
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<f64>) {
%v8 = grad.checkpoint -> (tensor<f64>) {
%v9 = nn.silu %v2 : tensor<f64>
grad.yield %v9 : tensor<f64>
}
%v10 = grad.start_checkpoint %v8 : tensor<f64>
%v11 = nn.relu %v10 : tensor<f64>
%v12 = grad.end_checkpoint %v10 : tensor<f64>
func.return %v12 : tensor<f64>
}
// without marks:
func.func @f(%v1: f64, %v2: tensor<f64>, %v3: tensor<1xf64>, %v4: tensor<1x1xf64>, %v5: index, %v6: i1, %v7: tensor<1xi64>) -> (tensor<f64>) {
%v8 = nn.silu %v2 : tensor<f64>
%v9 = nn.relu %v8 : tensor<f64>
func.return %v8 : tensor<f64>
}
