// The summed Black-Scholes price of 4,000,000 European calls.
func.func @main(
    %spot: tensor<4000000xf32> {grad.name = "spot"},
    %strike: tensor<4000000xf32> {grad.name = "strike"},
    %time: tensor<4000000xf32> {grad.name = "time"},
    %rate: tensor<4000000xf32> {grad.name = "rate"},
    %volatility: tensor<4000000xf32> {grad.name = "volatility"}) -> tensor<f32> {
  %half = array.full {value = 0.5} : tensor<4000000xf32>
  %one = array.full {value = 1.0} : tensor<4000000xf32>
  %sqrt_half = array.full {value = 0.70710678118654752} : tensor<4000000xf32>
  %moneyness = array.divide %spot, %strike : tensor<4000000xf32>
  %log_moneyness = array.log %moneyness : tensor<4000000xf32>
  %variance = array.multiply %volatility, %volatility : tensor<4000000xf32>
  %half_variance = array.multiply %half, %variance : tensor<4000000xf32>
  %drift = array.add %rate, %half_variance : tensor<4000000xf32>
  %growth = array.multiply %drift, %time : tensor<4000000xf32>
  %numerator = array.add %log_moneyness, %growth : tensor<4000000xf32>
  %sqrt_time = array.sqrt %time : tensor<4000000xf32>
  %deviation = array.multiply %volatility, %sqrt_time : tensor<4000000xf32>
  %d1 = array.divide %numerator, %deviation : tensor<4000000xf32>
  %d2 = array.subtract %d1, %deviation : tensor<4000000xf32>
  %scaled1 = array.multiply %d1, %sqrt_half : tensor<4000000xf32>
  %erf1 = array.erf %scaled1 : tensor<4000000xf32>
  %shifted1 = array.add %one, %erf1 : tensor<4000000xf32>
  %cdf1 = array.multiply %half, %shifted1 : tensor<4000000xf32>
  %scaled2 = array.multiply %d2, %sqrt_half : tensor<4000000xf32>
  %erf2 = array.erf %scaled2 : tensor<4000000xf32>
  %shifted2 = array.add %one, %erf2 : tensor<4000000xf32>
  %cdf2 = array.multiply %half, %shifted2 : tensor<4000000xf32>
  %rate_time = array.multiply %rate, %time : tensor<4000000xf32>
  %exponent = array.negative %rate_time : tensor<4000000xf32>
  %discount = array.exp %exponent : tensor<4000000xf32>
  %paid = array.multiply %strike, %discount : tensor<4000000xf32>
  %expected_paid = array.multiply %paid, %cdf2 : tensor<4000000xf32>
  %expected_gained = array.multiply %spot, %cdf1 : tensor<4000000xf32>
  %price = array.subtract %expected_gained, %expected_paid : tensor<4000000xf32>
  %total = array.sum %price : tensor<4000000xf32> -> tensor<f32>
  func.return %total : tensor<f32>
}
