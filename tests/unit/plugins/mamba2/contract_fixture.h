// A Mamba-2 model behind the contract's table, as the host sees it, without the host: a tutti_host over a thread pool,
// problems with their arrays, batches that own their memory.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/mamba2/mamba2.h"
#include "shared/parallel/thread_pool.h"
#include "shared/random/philox.h"
#include "shared/tensor/tensor.h"

namespace tutti::mamba2 {

class TestHost {
 public:
  explicit TestHost(int threads = 1) : pool_(threads) {
    table_.struct_size = sizeof table_;
    table_.abi_major = TUTTI_ABI_MAJOR, table_.abi_minor = TUTTI_ABI_MINOR;
    table_.context = &pool_, table_.name = "test", table_.version = "0";
    table_.log = [](const tutti_host*, int32_t, const char*) {};
    table_.parallel_for = [](const tutti_host* host, int64_t count, int64_t grain, tutti_range_fn body, void* argument) {
      static_cast<ThreadPool*>(host->context)->run(count, grain, body, argument);
    };
    table_.thread_count = [](const tutti_host* host) -> int32_t {
      return static_cast<ThreadPool*>(host->context)->thread_count();
    };
    table_.cancelled = [](const tutti_host*) -> int32_t { return 0; };
    table_.progress = [](const tutti_host*, double) {};
    table_.scratch = [](const tutti_host*, uint64_t) -> void* { return nullptr; };
    table_.get_extension = [](const tutti_host*, const char*) -> const void* { return nullptr; };
  }
  const tutti_host* table() const { return &table_; }

 private:
  ThreadPool pool_;
  tutti_host table_{};
};

inline const tutti_model_type* model_type() { return border::Library<Mamba2>::table("tutti.mamba2", "0.1.0", 1)->get_model(0); }

// The schema's defaults with some keys set otherwise.
inline std::string config_with(const nlohmann::json& changes) {
  nlohmann::json config = nlohmann::json::object();
  const nlohmann::json properties = nlohmann::json::parse(model_type()->config_schema).at("properties");
  for (const auto& [key, property] : properties.items()) config[key] = property.at("default");
  for (const auto& [key, value] : changes.items()) {
    REQUIRE(config.contains(key));
    config[key] = value;
  }
  return config.dump();
}

inline Problem small_problem(tutti_dtype dtype = dtype_of<double>()) {
  Problem p;
  p.features = 3, p.lookback = 12, p.horizon = 2, p.targets = 2, p.target_feature = {2, 0};
  p.seed = 5, p.dtype = dtype;
  return p;
}

inline nlohmann::json small_config() {
  return {{"d_model", 8}, {"d_state", 4}, {"headdim", 4}, {"chunk", 5}, {"dropout", 0.0}, {"warmup_steps", 0}};
}

// Owns every tensor of a batch and the answers to it.
template <class T>
struct TestBatch {
  Problem problem;
  int64_t size, steps;
  Tensor past, target, weight, length, point, quantiles;

  TestBatch(const Problem& p, int64_t size, int64_t steps, uint64_t stream = 0)
      : problem(p),
        size(size),
        steps(steps),
        past(Tensor::of<T>({size, steps, p.features})),
        target(Tensor::of<T>({size, p.horizon, p.targets})),
        weight(Tensor::of<T>({size})),
        length(Tensor::of<int64_t>({size})),
        point(Tensor::of<T>({size, p.horizon, p.targets})),
        quantiles(Tensor::of<T>({size, p.horizon, p.targets, static_cast<int64_t>(p.quantiles.size())})) {
    const Philox random(11, stream);
    uint64_t at = 0;
    for (Tensor* tensor : {&past, &target})
      for (int64_t i = 0; i < tensor->size(); ++i) tensor->data<T>()[i] = static_cast<T>(random.normal(at++));
    for (int64_t i = 0; i < size; ++i)
      weight.data<T>()[i] = static_cast<T>(0.5 + random.uniform(at++)), length.data<int64_t>()[i] = steps;
  }

  bool with_length = false, with_weight = false;
  tutti_batch borrow() const {
    tutti_batch batch{};
    batch.struct_size = sizeof batch, batch.size = size;
    batch.past = past.borrow(), batch.target = target.borrow();
    if (with_length) batch.length = length.borrow();
    if (with_weight) batch.weight = weight.borrow();
    return batch;
  }
  tutti_output output() const {
    tutti_output out{};
    out.struct_size = sizeof out;
    if (problem.wants(TUTTI_ANSWER_POINT)) out.point = point.borrow();
    if (problem.wants(TUTTI_ANSWER_QUANTILES)) out.quantiles = quantiles.borrow();
    return out;
  }
  std::vector<T> points() const { return {point.data<T>(), point.data<T>() + point.size()}; }
};

// A model made through the table. Statuses are required to be TUTTI_OK but in try_… functions.
class TestModel {
 public:
  TestModel(const TestHost& host, const Problem& problem, const nlohmann::json& changes = small_config()) {
    const tutti_problem p = problem.borrow();
    const tutti_status status = model_type()->create(host.table(), &p, config_with(changes).c_str(), &model_, &error_);
    INFO(error_.message);
    REQUIRE(status == TUTTI_OK);
  }
  ~TestModel() { model_type()->destroy(model_); }
  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  tutti_model* get() const { return model_; }
  const char* message() const { return error_.message; }

  template <class Table>
  static const Table* extension(const char* id) {
    return static_cast<const Table*>(model_type()->get_extension(id));
  }

  template <class T>
  std::vector<T> predict(const TestBatch<T>& batch) {
    const tutti_batch b = batch.borrow();
    const tutti_output out = batch.output();
    expect(model_type()->predict(model_, &b, &out, &error_));
    return batch.points();
  }

  template <class T>
  tutti_train_out train(const TestBatch<T>& batch) {
    const tutti_batch b = batch.borrow();
    tutti_train_in in{};
    in.struct_size = sizeof in, in.batch = &b;
    tutti_train_out out{};
    out.struct_size = sizeof out;
    expect(extension<tutti_train>(TUTTI_TRAIN_ID)->step(model_, &in, &out, &error_));
    return out;
  }
  void begin(double steps) {
    expect(extension<tutti_train>(TUTTI_TRAIN_ID)->notify(model_, TUTTI_EVENT_TRAIN_BEGIN, steps, &error_));
  }

  std::vector<tutti_parameter> parameters() {
    const auto* table = extension<tutti_parameters>(TUTTI_PARAMETERS_ID);
    std::vector<tutti_parameter> all(static_cast<size_t>(table->count(model_)));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].struct_size = sizeof all[i];
      expect(table->get(model_, static_cast<int64_t>(i), &all[i], &error_));
    }
    return all;
  }

  // Loss and the gradients of all weights, one dense tensor each.
  template <class T>
  std::pair<double, std::vector<std::vector<T>>> gradient(const TestBatch<T>& batch) {
    std::vector<Tensor> tensors;
    std::vector<tutti_tensor> borrowed;
    for (const tutti_parameter& p : parameters()) {
      tensors.push_back(p.role == TUTTI_ROLE_WEIGHT ? Tensor::of<T>({p.tensor.shape, p.tensor.shape + p.tensor.ndim}) : Tensor());
      borrowed.push_back(p.role == TUTTI_ROLE_WEIGHT ? tensors.back().borrow() : tutti_tensor{});
    }
    const tutti_batch b = batch.borrow();
    double loss = 0;
    expect(extension<tutti_gradient>(TUTTI_GRADIENT_ID)->evaluate(model_, &b, &loss, borrowed.data(), &error_));
    std::vector<std::vector<T>> gradients;
    for (const Tensor& tensor : tensors)
      gradients.emplace_back(tensor.size() > 0 && tensor.data()
                                 ? std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.size())
                                 : std::vector<T>());
    return {loss, gradients};
  }

  // All parameters as bytes, by name.
  std::map<std::string, std::vector<uint8_t>> snapshot() {
    std::map<std::string, std::vector<uint8_t>> bytes;
    for (const tutti_parameter& p : parameters()) {
      const auto* data = static_cast<const uint8_t*>(p.tensor.data);
      bytes[p.name].assign(data, data + byte_size(p.tensor));
    }
    return bytes;
  }
  void restore(const std::map<std::string, std::vector<uint8_t>>& bytes) {
    for (const tutti_parameter& p : parameters()) std::memcpy(p.tensor.data, bytes.at(p.name).data(), byte_size(p.tensor));
    expect(extension<tutti_parameters>(TUTTI_PARAMETERS_ID)->changed(model_, &error_));
  }

  static size_t byte_size(const tutti_tensor& tensor) {
    int64_t elements = 1;
    for (int axis = 0; axis < tensor.ndim; ++axis) elements *= tensor.shape[axis];
    return static_cast<size_t>(elements * size_in_bytes(tensor.dtype));
  }

 private:
  void expect(tutti_status status) {
    INFO(error_.message);
    REQUIRE(status == TUTTI_OK);
  }

  tutti_model* model_ = nullptr;
  tutti_error error_{};
};

}  // namespace tutti::mamba2
