// One square matrix product of factors that are rounded to bf16, summed in f32.
func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %c = array.matmul %a, %b {precision = "bf16"} : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  func.return %c : tensor<1024x1024xf32>
}
