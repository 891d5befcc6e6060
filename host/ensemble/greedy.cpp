#include <algorithm>
#include <cmath>

#include "host/ensemble/weights.h"

namespace tutti {
namespace {

constexpr double kTie = 1e-12;

bool ties(double error, double least) { return error <= least + kTie * std::abs(least); }

// Errors of the average of the picks so far and one more, for each member. With counts n of s picks,
// mse = (n'Cn + 2 (Cn)_m + C_mm) / (s+1)^2, so that a member costs two additions, however many windows there are.
class Picks {
 public:
  explicit Picks(const ErrorProducts& products)
      : products_(products), count_(static_cast<size_t>(products.members)), pull_(count_.size()) {}

  double error_with(int64_t m) const {
    const double size = static_cast<double>(size_ + 1);
    return (total_ + 2 * pull_[static_cast<size_t>(m)] + products_(m, m)) / (size * size);
  }

  bool has(int64_t m) const { return count_[static_cast<size_t>(m)] > 0; }

  void pick(int64_t m) {
    ++size_, ++count_[static_cast<size_t>(m)];
    total_ = 0;
    for (int64_t i = 0; i < products_.members; ++i) {
      pull_[static_cast<size_t>(i)] += products_(i, m);
      total_ += count_[static_cast<size_t>(i)] * pull_[static_cast<size_t>(i)];
    }
  }

 private:
  const ErrorProducts& products_;
  int64_t size_ = 0;
  std::vector<double> count_;  // n
  std::vector<double> pull_;   // Cn
  double total_ = 0;           // n'Cn
};

int64_t choose(const Picks& picks, const std::vector<double>& errors) {
  const double least = *std::min_element(errors.begin(), errors.end());
  int64_t chosen = -1;
  for (int64_t m = 0; m < static_cast<int64_t>(errors.size()); ++m) {
    if (!ties(errors[static_cast<size_t>(m)], least)) continue;
    if (picks.has(m)) return m;
    if (chosen < 0) chosen = m;
  }
  return chosen;
}

}  // namespace

std::vector<double> greedy_weights(const ErrorProducts& products, int picks) {
  assert(picks > 0);
  Picks picked(products);
  std::vector<int64_t> order;
  std::vector<double> errors(static_cast<size_t>(products.members)), trajectory;
  for (int i = 0; i < picks; ++i) {
    for (int64_t m = 0; m < products.members; ++m) errors[static_cast<size_t>(m)] = picked.error_with(m);
    const int64_t chosen = choose(picked, errors);
    picked.pick(chosen);
    order.push_back(chosen);
    trajectory.push_back(errors[static_cast<size_t>(chosen)]);
  }

  const double least = *std::min_element(trajectory.begin(), trajectory.end());
  const auto best = std::find_if(trajectory.begin(), trajectory.end(), [&](double error) { return ties(error, least); });
  const auto length = best - trajectory.begin() + 1;
  std::vector<double> weights(static_cast<size_t>(products.members));
  for (int64_t i = 0; i < length; ++i) ++weights[static_cast<size_t>(order[static_cast<size_t>(i)])];
  for (double& weight : weights) weight /= static_cast<double>(length);
  return weights;
}

}  // namespace tutti
