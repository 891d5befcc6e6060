// A block with random parameters and inputs, for tests: everything owned, and reachable by name.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "plugins/mamba2/block.h"
#include "shared/parallel/thread_pool.h"
#include "shared/random/philox.h"

namespace tutti::mamba2 {

// The tables that a test of kernels loops over.
inline std::vector<std::string> kernel_tables() {
  const std::vector<const char*> names = kernel_names();
  return {names.begin(), names.end()};
}

template <class T>
std::vector<T> random_values(int64_t count, uint64_t stream, double scale = 1) {
  const Philox random(7, stream);
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(scale * random.normal(i));
  return values;
}

// The largest difference, relative to the largest value of b.
template <class A, class B>
double relative_difference(const std::vector<A>& a, const std::vector<B>& b) {
  double difference = a.size() == b.size() ? 0 : INFINITY, largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    difference = d <= difference ? difference : d;  // NaN counts
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

template <class T>
bool all_finite(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
}

template <class T>
using Named = std::vector<std::pair<std::string, std::vector<T>>>;

inline std::vector<std::pair<std::string, int64_t>> parameter_sizes(const BlockShape& s) {
  std::vector<std::pair<std::string, int64_t>> sizes{{"in_proj.weight", s.in_proj_width() * s.d_model},
                                                     {"conv1d.weight", s.conv_channels() * s.d_conv},
                                                     {"dt_bias", s.heads()},
                                                     {"A_log", s.heads()},
                                                     {"D", s.d_has_hdim ? s.d_ssm : s.heads()},
                                                     {"out_proj.weight", s.d_model * s.d_inner}};
  if (s.bias) sizes.emplace_back("in_proj.bias", s.in_proj_width()), sizes.emplace_back("out_proj.bias", s.d_model);
  if (s.conv_bias) sizes.emplace_back("conv1d.bias", s.conv_channels());
  if (s.rmsnorm) sizes.emplace_back("norm.weight", s.d_ssm);
  return sizes;
}

template <class T>
T* find(Named<T>& values, const char* name) {
  for (auto& [key, value] : values)
    if (key == name) return value.data();
  return nullptr;
}

template <class T>
BlockParameters<T> bind(Named<T>& p) {
  return {find(p, "in_proj.weight"),
          find(p, "in_proj.bias"),
          find(p, "conv1d.weight"),
          find(p, "conv1d.bias"),
          find(p, "dt_bias"),
          find(p, "A_log"),
          find(p, "D"),
          find(p, "norm.weight"),
          find(p, "out_proj.weight"),
          find(p, "out_proj.bias")};
}

// Parameters, input x [rows, steps, d_model], initial states, and what a call makes of them.
template <class T>
struct BlockCase {
  BlockShape shape;
  Segments segments;
  Named<T> parameters;
  std::vector<T> x, conv0, ssm0;
  std::vector<T> y, conv1, ssm1;        // of forward
  std::vector<T> d_x, d_conv0, d_ssm0;  // of backward
  Named<T> gradient;
  BlockTape<T> tape;
  BlockWorkspace<T> workspace;
  bool has_initial = true;  // else both passes are given no initial states

  BlockCase(const BlockShape& shape, const Segments& segments) : shape(shape), segments(segments) {
    const int64_t rows = segments.rows();
    uint64_t stream = 0;
    for (const auto& [name, size] : parameter_sizes(shape)) {
      std::vector<T> values = random_values<T>(size, ++stream, name.find("weight") != std::string::npos ? 0.3 : 0.5);
      if (name == "norm.weight" || name == "D")
        for (T& v : values) v += T(1);
      parameters.emplace_back(name, values);
      gradient.emplace_back(name, std::vector<T>(values.size()));
    }
    x = random_values<T>(rows * segments.steps() * shape.d_model, 50);
    conv0 = random_values<T>(rows * (shape.d_conv - 1) * shape.conv_channels(), 51);
    ssm0 = random_values<T>(rows * shape.d_ssm * shape.d_state, 52);
    y.resize(x.size()), conv1.resize(conv0.size()), ssm1.resize(ssm0.size());
    d_x.resize(x.size()), d_conv0.resize(conv0.size()), d_ssm0.resize(ssm0.size());
  }

  View<T, 3> steps(std::vector<T>& values) { return {values.data(), {segments.rows(), segments.steps(), shape.d_model}}; }

  BlockState<T> initial(std::vector<T>& conv, std::vector<T>& ssm) const {
    if (!has_initial) return {};
    return {conv.data(), ssm.data()};
  }

  void forward(const std::string& kernels = "auto", Executor* executor = nullptr) {
    SerialExecutor serial;
    Block<T>(shape, *find_kernels<T>(kernels.c_str()))
        .forward(executor ? *executor : serial, segments, bind(parameters), steps(x), initial(conv0, ssm0), steps(y),
                 {conv1.data(), ssm1.data()}, tape, workspace);
  }

  // From the gradients of y and of both final states.
  void backward(std::vector<T> d_y, std::vector<T> d_conv1, std::vector<T> d_ssm1, const std::string& kernels = "auto",
                Executor* executor = nullptr) {
    SerialExecutor serial;
    for (auto& [name, values] : gradient) std::fill(values.begin(), values.end(), T(0));
    Block<T>(shape, *find_kernels<T>(kernels.c_str()))
        .backward(executor ? *executor : serial, segments, bind(parameters), tape, steps(d_y), {d_conv1.data(), d_ssm1.data()},
                  steps(d_x), initial(d_conv0, d_ssm0), bind(gradient), workspace);
  }
};

// The same parameters, inputs and states in f64: every difference that remains is one of arithmetic.
inline BlockCase<double> widened(const BlockCase<float>& narrow) {
  BlockCase<double> wide(narrow.shape, narrow.segments);
  for (size_t i = 0; i < narrow.parameters.size(); ++i)
    wide.parameters[i].second.assign(narrow.parameters[i].second.begin(), narrow.parameters[i].second.end());
  wide.x.assign(narrow.x.begin(), narrow.x.end());
  wide.conv0.assign(narrow.conv0.begin(), narrow.conv0.end()), wide.ssm0.assign(narrow.ssm0.begin(), narrow.ssm0.end());
  return wide;
}

// Steps first … last-1 of values [rows, steps, d_model].
template <class T>
std::vector<T> steps_of(const BlockCase<T>& c, const std::vector<T>& values, int64_t first, int64_t last) {
  const int64_t D = c.shape.d_model;
  std::vector<T> steps;
  for (int64_t row = 0; row < c.segments.rows(); ++row) {
    const auto begin = values.begin() + (row * c.segments.steps() + first) * D;
    steps.insert(steps.end(), begin, begin + (last - first) * D);
  }
  return steps;
}

// Steps first … last-1 of c's input, from the states given, as a case of its own, after its forward pass.
template <class T>
BlockCase<T> part_of(const BlockCase<T>& c, int64_t first, int64_t last, const std::vector<T>& conv, const std::vector<T>& ssm,
                     const std::string& kernels = "auto") {
  BlockCase<T> part(c.shape, Segments::whole(c.segments.rows(), last - first));
  part.parameters = c.parameters, part.conv0 = conv, part.ssm0 = ssm, part.x = steps_of(c, c.x, first, last);
  part.forward(kernels);
  return part;
}

// Steps first … last-1 of one row, as a case of its own, not yet computed.
template <class T>
BlockCase<T> row_alone(const BlockCase<T>& c, int64_t row, int64_t first, int64_t last) {
  const int64_t D = c.shape.d_model;
  const auto part = [&](const std::vector<T>& values) {
    const auto size = static_cast<int64_t>(values.size()) / c.segments.rows();
    return std::vector<T>(values.begin() + row * size, values.begin() + (row + 1) * size);
  };
  BlockCase<T> alone(c.shape, Segments::whole(1, last - first));
  alone.parameters = c.parameters, alone.conv0 = part(c.conv0), alone.ssm0 = part(c.ssm0);
  const auto begin = c.x.begin() + (row * c.segments.steps() + first) * D;
  alone.x.assign(begin, begin + (last - first) * D);
  return alone;
}

// Shapes that between them use every option of a block.
inline std::vector<BlockShape> interesting_shapes() {
  BlockShape plain;
  plain.d_model = 6, plain.d_inner = plain.d_ssm = 12, plain.headdim = 4, plain.d_state = 5, plain.chunk = 4;
  std::vector<BlockShape> shapes(9, plain);
  shapes[1].ngroups = 3, shapes[1].norm_before_gate = true, shapes[1].d_has_hdim = true;
  shapes[2].bias = true, shapes[2].conv_bias = false, shapes[2].d_inner = 17, shapes[2].d_conv = 2;
  shapes[3].rmsnorm = false, shapes[3].headdim = 12, shapes[3].d_state = 1, shapes[3].d_conv = 8;
  shapes[4].dt_limit_min = 0.4, shapes[4].dt_limit_max = 0.9, shapes[4].chunk = 64;
  shapes[5].d_model = 5, shapes[5].d_ssm = shapes[5].d_inner = 10, shapes[5].headdim = 2, shapes[5].ngroups = 5,
  shapes[5].chunk = 1;
  shapes[6].d_inner = 15, shapes[6].ngroups = 3, shapes[6].bias = true, shapes[6].d_has_hdim = true, shapes[6].chunk = 3;
  shapes[7].ngroups = 3, shapes[7].grouped_norm = false, shapes[7].epsilon = 0.01;
  shapes[8].ngroups = 3, shapes[8].grouped_norm = false, shapes[8].norm_before_gate = true;
  return shapes;
}

}  // namespace tutti::mamba2
