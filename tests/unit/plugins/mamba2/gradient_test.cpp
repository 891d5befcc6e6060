// Gradients of random configurations against differences.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/unit/plugins/mamba2/differences.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

constexpr int64_t kSamples = 16;  // coordinates of each tensor, beside one direction through all of them

// Draws by number, the same everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed, 1 << 10) {}

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.uniform(at_++) * double(high - low + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  double normal() { return random_.normal((1 << 20) + at_++); }

 private:
  Philox random_;
  uint64_t at_ = 0;
};

BlockShape random_shape(Dice& dice) {
  BlockShape s;
  const int64_t heads = dice.between(1, 5), headdim = dice.between(1, 6);
  s.headdim = headdim, s.d_ssm = heads * headdim;
  do s.ngroups = dice.between(1, heads);
  while (heads % s.ngroups);
  s.d_model = dice.between(1, 9);
  s.d_inner = s.d_ssm + (dice.coin() ? dice.between(1, 6) : 0);
  s.d_state = dice.between(1, 40), s.d_conv = dice.between(2, 8), s.chunk = dice.between(1, 48);
  s.bias = dice.coin(), s.conv_bias = dice.coin(), s.rmsnorm = dice.coin(), s.norm_before_gate = dice.coin();
  s.d_has_hdim = dice.coin();
  if (dice.coin())
    s.dt_limit_min = 0.05 * double(dice.between(1, 12)), s.dt_limit_max = s.dt_limit_min + 0.1 * double(dice.between(1, 9));
  return s;
}

Segments random_segments(Dice& dice) {
  const int64_t rows = dice.between(1, 3), steps = dice.between(1, 40);
  const int64_t kind = dice.between(0, 2);
  if (kind == 0) return Segments::whole(rows, steps);
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < rows; ++row) lengths.push_back(dice.between(1, steps));
  if (kind == 1) return Segments::left_padded(steps, lengths);
  std::vector<int32_t> sequence;  // numbers that stay for a while, and padding now and then
  for (int64_t at = 0; at < rows * steps; ++at)
    sequence.push_back(at % steps && dice.between(0, 5) ? sequence.back() : static_cast<int32_t>(dice.between(-1, 3)));
  return Segments::packed(rows, steps, sequence.data());
}

std::string text_of(const BlockCase<double>& c) {
  const BlockShape& s = c.shape;
  std::ostringstream text;
  text << "d_model " << s.d_model << ", d_inner " << s.d_inner << ", d_ssm " << s.d_ssm << ", headdim " << s.headdim
       << ", ngroups " << s.ngroups << ", d_state " << s.d_state << ", d_conv " << s.d_conv << ", chunk " << s.chunk << ", bias "
       << s.bias << ", conv_bias " << s.conv_bias << ", rmsnorm " << s.rmsnorm << ", norm_before_gate " << s.norm_before_gate
       << ", d_has_hdim " << s.d_has_hdim << ", dt_limit " << s.dt_limit_min << " to " << s.dt_limit_max << ", has_initial "
       << c.has_initial << "; " << c.segments.rows() << " rows of " << c.segments.steps() << " steps, segments";
  for (const Segment& segment : c.segments) text << " " << segment.row << ":" << segment.begin << "-" << segment.end;
  return text.str();
}

// Moves the limits of the time step until no time step lies within a difference's reach of one, where the function has
// a corner and no derivative.
void keep_clear_of_corners(BlockCase<double>& c) {
  constexpr double kReach = 1e-3;
  BlockShape unlimited = c.shape;
  unlimited.dt_limit_min = 0, unlimited.dt_limit_max = 1e300;
  BlockCase<double> free(unlimited, c.segments);
  free.forward("reference");
  std::vector<double> dt;
  for (const Segment& s : c.segments)
    for (int64_t at = (s.row * c.segments.steps() + s.begin) * unlimited.heads();
         at < (s.row * c.segments.steps() + s.end) * unlimited.heads(); ++at)
      dt.push_back(free.tape.dt[static_cast<size_t>(at)]);
  const auto is_near = [&](double limit) {
    return std::any_of(dt.begin(), dt.end(), [&](double v) { return std::abs(v - limit) < kReach; });
  };
  while (c.shape.dt_limit_min > 0 && is_near(c.shape.dt_limit_min)) c.shape.dt_limit_min += kReach;
  while (c.shape.dt_limit_max < 1e300 && is_near(c.shape.dt_limit_max)) c.shape.dt_limit_max += kReach;
}

// The tensors that the loss depends on, each with its gradient.
std::vector<std::tuple<std::string, std::vector<double>*, const std::vector<double>*>> tensors_of(BlockCase<double>& c) {
  std::vector<std::tuple<std::string, std::vector<double>*, const std::vector<double>*>> all;
  for (size_t i = 0; i < c.parameters.size(); ++i)
    all.emplace_back(c.parameters[i].first, &c.parameters[i].second, &c.gradient[i].second);
  all.emplace_back("x", &c.x, &c.d_x);
  if (c.has_initial) all.emplace_back("conv0", &c.conv0, &c.d_conv0), all.emplace_back("ssm0", &c.ssm0, &c.d_ssm0);
  return all;
}

}  // namespace

// 1e-6 is what is promised. The differences themselves are good to some 1e-8: a rounding of 1e-13 over a step of 3e-5,
// and less from truncation.
TEST_CASE("in forty random configurations every gradient is the limit of its differences") {
  constexpr double kStep = 3e-5;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    const BlockShape shape = random_shape(dice);
    BlockCase<double> c(shape, random_segments(dice));
    c.has_initial = dice.coin();
    keep_clear_of_corners(c);
    INFO("seed " << seed << ": " << text_of(c));
    const auto d_y = random_values<double>(static_cast<int64_t>(c.y.size()), 90);
    const auto d_conv1 = random_values<double>(static_cast<int64_t>(c.conv1.size()), 91);
    const auto d_ssm1 = random_values<double>(static_cast<int64_t>(c.ssm1.size()), 92);
    const auto loss = [&] {
      c.forward();
      return dot(c.y, d_y) + dot(c.conv1, d_conv1) + dot(c.ssm1, d_ssm1);
    };

    // differences, once for all tables: of some coordinates, and along a random direction through all of a tensor's
    struct Difference {
      std::vector<int64_t> places;
      std::vector<double> slopes, direction;
      double along;
    };
    std::vector<Difference> differences;
    for (const auto& [name, values, gradient] : tensors_of(c)) {
      Difference d;
      for (int64_t i = 0; i < std::min<int64_t>(kSamples, static_cast<int64_t>(values->size())); ++i) {
        const int64_t place = dice.between(0, static_cast<int64_t>(values->size()) - 1);
        double& value = (*values)[static_cast<size_t>(place)];
        const double kept = value;
        d.places.push_back(place);
        d.slopes.push_back(five_point(kStep, [&](double offset) { return value = kept + offset, loss(); }));
        value = kept;
      }
      for (size_t i = 0; i < values->size(); ++i)
        d.direction.push_back(dice.normal() / std::sqrt(static_cast<double>(values->size())));
      const std::vector<double> kept = *values;
      d.along = five_point(kStep, [&](double offset) {
        for (size_t i = 0; i < kept.size(); ++i) (*values)[i] = kept[i] + offset * d.direction[i];
        return loss();
      });
      *values = kept;
      differences.push_back(std::move(d));
    }

    for (const std::string& kernels : kernel_tables()) {
      c.forward(kernels);
      c.backward(d_y, d_conv1, d_ssm1, kernels);
      const auto tensors = tensors_of(c);
      for (size_t i = 0; i < tensors.size(); ++i) {
        const auto& [name, values, gradient] = tensors[i];
        const Difference& d = differences[i];
        double largest = 0, size = 0;
        for (double g : *gradient) largest = std::max(largest, std::abs(g)), size += g * g;
        INFO(kernels << ", " << name << " of " << gradient->size());
        REQUIRE(all_finite(*gradient));
        for (size_t k = 0; k < d.places.size(); ++k) {
          INFO("[" << d.places[k] << "]");
          const double analytic = (*gradient)[static_cast<size_t>(d.places[k])];
          CHECK(std::abs(analytic - d.slopes[k]) <= 1e-6 * largest);
        }
        // a step along the direction changes the loss by about |gradient| / sqrt(elements)
        CHECK(std::abs(dot(*gradient, d.direction) - d.along) <= 1e-6 * std::sqrt(size / static_cast<double>(gradient->size())));
      }
    }
  }
}
