#include "shared/plugin/border_check.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace tutti {
namespace {

bool is_absent(const tutti_tensor& tensor) { return tensor.ndim == 0; }

bool is_empty(const tutti_tensor& tensor) {
  return std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
}

bool is_dense(const tutti_tensor& tensor) {
  uint64_t step = 1;  // wraps where the lengths are absurd
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && static_cast<uint64_t>(tensor.strides[axis]) != step) return false;
    step *= static_cast<uint64_t>(tensor.shape[axis]);
  }
  return true;
}

Error wrong_axes(const char* name, const tutti_tensor& tensor, const char* needed) {
  return bad_input(std::string(name) + " has " + std::to_string(tensor.ndim) + " axes; " + needed + " are needed");
}

Error without_shape(const char* name) { return bad_input(std::string(name) + " has no shape or strides"); }

// Allocates nothing where it passes: streams are checked at every step.
Result<void> check_tensor(const char* name, const tutti_tensor& tensor, tutti_dtype dtype, const int64_t* shape, int ndim,
                          bool strided) {
  if (is_absent(tensor) && ndim > 0) return bad_input(std::string(name) + " is missing");
  if (ndim > 0 && (!tensor.shape || !tensor.strides)) return without_shape(name);
  if (tensor.ndim != ndim || !std::equal(shape, shape + ndim, tensor.shape))
    return bad_input(std::string(name) + " has the shape " + shape_text(tensor.shape, tensor.ndim) + "; " +
                     shape_text(shape, ndim) + " is needed");
  if (!same_dtype(tensor.dtype, dtype))
    return bad_input(std::string(name) + " is " + name_of(tensor.dtype) + "; " + name_of(dtype) + " is needed");
  if (!is_cpu(tensor.device)) return unsupported(std::string(name) + " is not in CPU memory");
  if (is_empty(tensor)) return {};
  if (!tensor.data) return bad_input(std::string(name) + " has no data");
  if (!is_aligned(tensor)) return bad_input(std::string(name) + " is not aligned to its elements");
  if (!strided && !is_dense(tensor)) return unsupported(std::string(name) + " is not dense; pass a contiguous copy");
  return {};
}

Result<void> check_tensor(const char* name, const tutti_tensor& tensor, tutti_dtype dtype, std::initializer_list<int64_t> shape,
                          bool strided) {
  return check_tensor(name, tensor, dtype, shape.begin(), static_cast<int>(shape.size()), strided);
}

Result<void> check_optional(const char* name, const tutti_tensor& tensor, tutti_dtype dtype, std::initializer_list<int64_t> shape,
                            bool needed, bool strided) {
  if (is_absent(tensor) && !needed) return {};
  return check_tensor(name, tensor, dtype, shape, strided);
}

}  // namespace

Result<void> check_problem(const Problem& p, const tutti_model_type& type) {
  const std::string id = type.id;
  for (const int64_t size :
       {p.horizon, p.targets, p.known_features, p.static_features, p.agent_features, p.classes, p.actions, p.season})
    if (size < 0) return bad_input(id + ": the problem has a negative size");
  if (p.features < 1 || p.lookback < 1) return bad_input(id + " needs at least one feature and one past step");
  if (p.answers == 0 || (p.answers & ~type.answers)) return unsupported(id + " doesn't give the kind of answer that is wanted");
  const bool f32 = same_dtype(p.dtype, dtype_of<float>()), f64 = same_dtype(p.dtype, dtype_of<double>());
  if (!(f32 && (type.dtypes & TUTTI_DTYPE_F32)) && !(f64 && (type.dtypes & TUTTI_DTYPE_F64)))
    return unsupported(id + " doesn't compute in " + name_of(p.dtype));
  if (p.wants(TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES) && (p.horizon < 1 || p.targets < 1))
    return bad_input(id + " needs a horizon and a target of at least one");
  if (p.wants(TUTTI_ANSWER_CLASSES) && p.classes < 1) return bad_input(id + " needs at least one class");
  if (p.wants(TUTTI_ANSWER_ACTION_VALUES | TUTTI_ANSWER_POLICY) && p.actions < 1)
    return bad_input(id + " needs at least one action");
  if (static_cast<int64_t>(p.target_feature.size()) != p.targets) return bad_input(id + " needs target_feature for each target");
  for (int64_t feature : p.target_feature)
    if (feature < -1 || feature >= p.features) return bad_input(id + ": a target_feature is no feature");
  if (p.wants(TUTTI_ANSWER_QUANTILES) && p.quantiles.empty()) return bad_input(id + " needs quantile levels to answer quantiles");
  for (size_t q = 0; q < p.quantiles.size(); ++q)
    if (!(p.quantiles[q] > 0 && p.quantiles[q] < 1) || (q && p.quantiles[q] <= p.quantiles[q - 1]))
      return bad_input(id + ": quantile levels must rise inside (0,1)");
  const char* const device = is_cpu(p.device) ? "cpu" : p.device.type == TUTTI_CUDA ? "cuda" : nullptr;
  if (!device || !std::strstr(type.devices, device))
    return unsupported(id + " doesn't compute on " + (device ? device : "this device"));
  return {};
}

Result<void> check_batch(const tutti_batch& batch, const Problem& p, const BorderRules& rules, bool with_target) {
  const bool strided = rules.strided;
  const int64_t B = batch.size;
  if (B < 0) return bad_input("the batch's size is negative");
  if (batch.past.ndim != 3) return wrong_axes("past", batch.past, "3, batch, time and feature,");
  if (!batch.past.shape) return without_shape("past");
  const int64_t T = batch.past.shape[1];
  if (T < 1 || T > p.lookback || (T != p.lookback && !rules.free_lookback))
    return unsupported("past has " + std::to_string(T) + " steps; the model was made for " + std::to_string(p.lookback));
  TUTTI_CHECK(check_tensor("past", batch.past, p.dtype, {B, T, p.features}, strided));
  TUTTI_CHECK(
      check_optional("past_time", batch.past_time, dtype_of<int64_t>(), {B, T}, rules.inputs & TUTTI_INPUT_TIME, strided));
  TUTTI_CHECK(check_optional("elapsed", batch.elapsed, p.dtype, {B, T}, rules.inputs & TUTTI_INPUT_ELAPSED, strided));
  TUTTI_CHECK(check_optional("observed", batch.observed, dtype_of<uint8_t>(), {B, T, p.features}, false, strided));
  TUTTI_CHECK(check_optional("length", batch.length, dtype_of<int64_t>(), {B}, false, strided));
  TUTTI_CHECK(check_optional("future_known", batch.future_known, p.dtype, {B, p.horizon, p.known_features},
                             (rules.inputs & TUTTI_INPUT_FUTURE_KNOWN) && p.known_features > 0, strided));
  TUTTI_CHECK(check_optional("statics", batch.statics, p.dtype, {B, p.static_features},
                             (rules.inputs & TUTTI_INPUT_STATICS) && p.static_features > 0, strided));
  TUTTI_CHECK(check_optional("row", batch.row, dtype_of<int64_t>(), {B}, false, strided));
  if (!is_absent(batch.length)) {
    const View<const int64_t, 1> length = *view_of<const int64_t, 1>(batch.length, "length");
    for (int64_t b = 0; b < B; ++b)
      if (length(b) < 1 || length(b) > T)
        return bad_input("length " + std::to_string(length(b)) + " is not within 1 to " + std::to_string(T));
  }
  if (with_target) {
    const bool forecasts = p.wants(TUTTI_ANSWER_POINT | TUTTI_ANSWER_QUANTILES);
    TUTTI_CHECK(check_optional("target", batch.target, p.dtype, {B, p.horizon, p.targets}, forecasts, strided));
    TUTTI_CHECK(
        check_optional("target_class", batch.target_class, dtype_of<int32_t>(), {B}, p.wants(TUTTI_ANSWER_CLASSES), strided));
    TUTTI_CHECK(check_optional("weight", batch.weight, p.dtype, {B}, false, strided));
  }
  return {};
}

Result<void> check_output(const tutti_output& output, int64_t B, const Problem& p) {
  const int64_t Q = static_cast<int64_t>(p.quantiles.size());
  if (p.wants(TUTTI_ANSWER_POINT)) TUTTI_CHECK(check_tensor("point", output.point, p.dtype, {B, p.horizon, p.targets}, false));
  if (p.wants(TUTTI_ANSWER_QUANTILES))
    TUTTI_CHECK(check_tensor("quantiles", output.quantiles, p.dtype, {B, p.horizon, p.targets, Q}, false));
  if (p.wants(TUTTI_ANSWER_CLASSES)) TUTTI_CHECK(check_tensor("classes", output.classes, p.dtype, {B, p.classes}, false));
  if (p.wants(TUTTI_ANSWER_ACTION_VALUES))
    TUTTI_CHECK(check_tensor("action_values", output.action_values, p.dtype, {B, p.actions}, false));
  if (p.wants(TUTTI_ANSWER_POLICY)) TUTTI_CHECK(check_tensor("policy", output.policy, p.dtype, {B, p.actions}, false));
  return {};
}

Result<void> check_frame(const tutti_tensor& frame, const tutti_tensor* elapsed, const Problem& p, const BorderRules& rules) {
  if (frame.ndim != 2) return wrong_axes("frame", frame, "2, stream and feature,");
  if (!frame.shape) return without_shape("frame");
  const int64_t B = frame.shape[0];
  TUTTI_CHECK(check_tensor("frame", frame, p.dtype, {B, p.features}, rules.strided));
  return check_optional("elapsed", elapsed ? *elapsed : tutti_tensor{}, p.dtype, {B}, rules.inputs & TUTTI_INPUT_ELAPSED,
                        rules.strided);
}

Result<void> check_gradients(const tutti_tensor* gradients, const std::vector<Parameter>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, role, tensor] = parameters[i];
    if (role != TUTTI_ROLE_WEIGHT) continue;
    TUTTI_CHECK(check_tensor(("the gradient of " + name).c_str(), gradients[i], tensor.dtype, tensor.shape, tensor.ndim, false));
  }
  return {};
}

}  // namespace tutti
