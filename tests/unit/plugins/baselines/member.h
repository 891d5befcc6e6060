// A baseline as a host holds it: made, trained and asked through the C table, with batches owned by the test.
#pragma once

#include <catch2/catch.hpp>

#include "shared/plugin/define_plugin.h"
#include "shared/tensor/tensor.h"
#include "tests/support/fake_host.h"

namespace tutti::baselines {

template <class T = double>
Problem problem_of(int64_t lookback, int64_t horizon, std::vector<int64_t> target_feature = {0}, int64_t features = 1) {
  Problem problem;
  problem.features = features, problem.lookback = lookback, problem.horizon = horizon;
  problem.targets = static_cast<int64_t>(target_feature.size()), problem.target_feature = std::move(target_feature);
  problem.dtype = dtype_of<T>();
  return problem;
}

template <class T>
Tensor tensor_of(std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::of<T>(std::move(shape));
  REQUIRE(tensor.size() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.size()};
}

// The tensors of a batch; empty ones are absent.
struct Windows {
  Tensor past, target, length, weight;

  tutti_batch borrow() const {
    tutti_batch batch{};
    batch.struct_size = sizeof batch;
    batch.size = past.shape()[0];
    batch.past = past.borrow();
    if (target.data()) batch.target = target.borrow();
    if (length.data()) batch.length = length.borrow();
    if (weight.data()) batch.weight = weight.borrow();
    return batch;
  }
};

class Member {
 public:
  // Creating may fail: see status() and message().
  Member(const tutti_model_type* type, const Problem& problem, const std::string& config = "{}", int threads = 1)
      : type_(type), problem_(problem), host_(threads) {
    const tutti_problem borrowed = problem.borrow();
    status_ = type->create(host_.table(), &borrowed, config.c_str(), &model_, &error_);
  }
  ~Member() { type_->destroy(model_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  tutti_status status() const { return status_; }
  std::string message() const { return error_.message; }
  FakeHost& host() { return host_; }

  // The point forecast [rows, horizon, targets]; of no value where status() then isn't TUTTI_OK.
  Tensor predict(const Windows& windows) {
    const tutti_batch batch = windows.borrow();
    Tensor point(problem_.dtype, {batch.size, problem_.horizon, problem_.targets});
    tutti_output output{};
    output.struct_size = sizeof output;
    output.point = point.borrow();
    end_call(type_->predict(model_, &batch, &output, &error_));
    return point;
  }
  template <class T = double>
  std::vector<T> forecast(const Windows& windows) {
    const Tensor point = predict(windows);
    INFO(message());
    REQUIRE(status_ == TUTTI_OK);
    return values_of<T>(point);
  }

  tutti_train_out step(const Windows& windows) {
    const tutti_batch batch = windows.borrow();
    return step(&batch);
  }
  tutti_train_out step(const tutti_batch* batch) {
    tutti_train_in in{};
    in.struct_size = sizeof in, in.batch = batch;
    tutti_train_out out{};
    out.struct_size = sizeof out;
    end_call(training().step(model_, &in, &out, &error_));
    return out;
  }
  tutti_status notify(uint32_t event) {
    end_call(training().notify(model_, event, 0, &error_));
    return status_;
  }
  // One epoch of these batches.
  void train(const std::vector<const Windows*>& batches) {
    REQUIRE(notify(TUTTI_EVENT_TRAIN_BEGIN) == TUTTI_OK);
    for (const Windows* windows : batches) {
      step(*windows);
      REQUIRE(status_ == TUTTI_OK);
    }
    INFO(message());
    REQUIRE(notify(TUTTI_EVENT_EPOCH_END) == TUTTI_OK);
  }
  tutti_status reset() {
    end_call(type_->reset(model_, &error_));
    return status_;
  }

  int64_t parameter_count() { return parameters().count(model_); }
  tutti_parameter parameter(int64_t index) {
    tutti_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    REQUIRE(parameters().get(model_, index, &parameter, &error_) == TUTTI_OK);
    return parameter;
  }
  template <class T = double>
  std::vector<T> parameter_values(int64_t index) {
    const tutti_tensor tensor = parameter(index).tensor;
    REQUIRE(same_dtype(tensor.dtype, dtype_of<T>()));
    int64_t size = 1;
    for (int axis = 0; axis < tensor.ndim; ++axis) size *= tensor.shape[axis];
    return {static_cast<T*>(tensor.data), static_cast<T*>(tensor.data) + size};
  }
  // As a host restores a checkpoint.
  void copy_parameters_from(Member& other) {
    for (int64_t i = 0; i < parameter_count(); ++i) {
      const tutti_tensor from = other.parameter(i).tensor, to = parameter(i).tensor;
      int64_t bytes = size_in_bytes(from.dtype);
      for (int axis = 0; axis < from.ndim; ++axis) bytes *= from.shape[axis];
      std::memcpy(to.data, from.data, static_cast<size_t>(bytes));
    }
    REQUIRE(parameters().changed(model_, &error_) == TUTTI_OK);
  }

 private:
  const tutti_train& training() { return *static_cast<const tutti_train*>(type_->get_extension(TUTTI_TRAIN_ID)); }
  const tutti_parameters& parameters() {
    return *static_cast<const tutti_parameters*>(type_->get_extension(TUTTI_PARAMETERS_ID));
  }
  void end_call(tutti_status status) {
    status_ = status;
    host_.end_call();
  }

  const tutti_model_type* type_;
  const Problem problem_;
  FakeHost host_;
  tutti_model* model_ = nullptr;
  tutti_error error_{};
  tutti_status status_ = TUTTI_OK;
};

}  // namespace tutti::baselines
