// Gradients by differences, to hold analytic ones against.
#pragma once

#include <functional>
#include <vector>

#include "tests/unit/plugins/mamba2/block_fixture.h"

namespace tutti::mamba2 {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The derivative of loss(offset) at 0 by the five-point rule, whose truncation error is of the order step^4.
inline double five_point(double step, const std::function<double(double)>& loss) {
  return (8 * (loss(step) - loss(-step)) - (loss(2 * step) - loss(-2 * step))) / (12 * step);
}

// Differences at every element of values, against the analytic gradient. The step balances a rounding error of
// 1e-15 / step against the truncation error, which small norms make some 1e6 times larger.
inline double gradient_error(std::vector<double>& values, const std::vector<double>& analytic,
                             const std::function<double()>& loss) {
  std::vector<double> numeric(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double kept = values[i];
    numeric[i] = five_point(1e-4, [&](double offset) { return values[i] = kept + offset, loss(); });
    values[i] = kept;
  }
  return relative_difference(analytic, numeric);
}

// The name of a tensor and the largest error of its gradient: of all parameters, the input and both initial states, for
// a random loss of the outputs and both final states.
inline std::vector<std::pair<std::string, double>> gradient_errors(BlockCase<double> c, const std::string& kernels) {
  const auto d_y = random_values<double>(static_cast<int64_t>(c.y.size()), 90);
  const auto d_conv1 = random_values<double>(static_cast<int64_t>(c.conv1.size()), 91);
  const auto d_ssm1 = random_values<double>(static_cast<int64_t>(c.ssm1.size()), 92);
  const auto loss = [&] {
    c.forward(kernels);
    return dot(c.y, d_y) + dot(c.conv1, d_conv1) + dot(c.ssm1, d_ssm1);
  };
  loss();
  c.backward(d_y, d_conv1, d_ssm1, kernels);
  std::vector<std::pair<std::string, double>> errors;
  for (size_t i = 0; i < c.parameters.size(); ++i)
    errors.emplace_back(c.parameters[i].first, gradient_error(c.parameters[i].second, c.gradient[i].second, loss));
  errors.emplace_back("x", gradient_error(c.x, c.d_x, loss));
  errors.emplace_back("conv0", gradient_error(c.conv0, c.d_conv0, loss));
  errors.emplace_back("ssm0", gradient_error(c.ssm0, c.d_ssm0, loss));
  return errors;
}

}  // namespace tutti::mamba2
