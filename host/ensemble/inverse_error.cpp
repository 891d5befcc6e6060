#include <algorithm>

#include "host/ensemble/weights.h"

namespace tutti {

std::vector<double> inverse_error_weights(const ErrorProducts& products) {
  double least = products(0, 0);
  for (int64_t m = 1; m < products.members; ++m) least = std::min(least, products(m, m));

  // In units of the least error, so that the inverse of a tiny one doesn't overflow.
  std::vector<double> weights;
  double sum = 0;
  for (int64_t m = 0; m < products.members; ++m) {
    const double error = products(m, m);
    weights.push_back(error == least ? 1 : least / error);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace tutti
