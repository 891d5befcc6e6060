/* Pins every slot of every struct of the contract's version 1.0, on 64-bit machines: a change of what is shipped does not
 * compile. Slots of later minor versions are added here when they ship. */
#include <tutti/plugin.h>

#define SLOT(type, member, offset, size)                                              \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved"); \
  _Static_assert(sizeof(((type *)0)->member) == (size), #type "." #member " has another size")

/* Lies by value in other structs or in arrays, so it can't grow. */
#define FIXED(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

/* May only be longer than it was in 1.0. */
#define GROWS(type, size) _Static_assert(sizeof(type) >= (size), #type " has shrunk")

SLOT(tutti_error, message, 0, 512);
FIXED(tutti_error, 512);

SLOT(tutti_device, type, 0, 4);
SLOT(tutti_device, id, 4, 4);
FIXED(tutti_device, 8);

SLOT(tutti_dtype, code, 0, 1);
SLOT(tutti_dtype, bits, 1, 1);
SLOT(tutti_dtype, lanes, 2, 2);
FIXED(tutti_dtype, 4);

SLOT(tutti_tensor, data, 0, 8);
SLOT(tutti_tensor, device, 8, 8);
SLOT(tutti_tensor, ndim, 16, 4);
SLOT(tutti_tensor, dtype, 20, 4);
SLOT(tutti_tensor, shape, 24, 8);
SLOT(tutti_tensor, strides, 32, 8);
SLOT(tutti_tensor, byte_offset, 40, 8);
FIXED(tutti_tensor, 48);

SLOT(tutti_host, struct_size, 0, 4);
SLOT(tutti_host, abi_major, 4, 2);
SLOT(tutti_host, abi_minor, 6, 2);
SLOT(tutti_host, context, 8, 8);
SLOT(tutti_host, name, 16, 8);
SLOT(tutti_host, version, 24, 8);
SLOT(tutti_host, log, 32, 8);
SLOT(tutti_host, parallel_for, 40, 8);
SLOT(tutti_host, thread_count, 48, 8);
SLOT(tutti_host, cancelled, 56, 8);
SLOT(tutti_host, progress, 64, 8);
SLOT(tutti_host, scratch, 72, 8);
SLOT(tutti_host, get_extension, 80, 8);
GROWS(tutti_host, 88);

SLOT(tutti_problem, struct_size, 0, 4);
SLOT(tutti_problem, answers, 4, 4);
SLOT(tutti_problem, features, 8, 8);
SLOT(tutti_problem, lookback, 16, 8);
SLOT(tutti_problem, horizon, 24, 8);
SLOT(tutti_problem, targets, 32, 8);
SLOT(tutti_problem, known_features, 40, 8);
SLOT(tutti_problem, static_features, 48, 8);
SLOT(tutti_problem, agent_features, 56, 8);
SLOT(tutti_problem, classes, 64, 8);
SLOT(tutti_problem, actions, 72, 8);
SLOT(tutti_problem, quantile_count, 80, 8);
SLOT(tutti_problem, quantiles, 88, 8);
SLOT(tutti_problem, target_feature, 96, 8);
SLOT(tutti_problem, season, 104, 8);
SLOT(tutti_problem, seed, 112, 8);
SLOT(tutti_problem, dtype, 120, 4);
SLOT(tutti_problem, device, 124, 8);
GROWS(tutti_problem, 136);

SLOT(tutti_batch, struct_size, 0, 4);
SLOT(tutti_batch, reserved, 4, 4);
SLOT(tutti_batch, size, 8, 8);
SLOT(tutti_batch, past, 16, 48);
SLOT(tutti_batch, past_time, 64, 48);
SLOT(tutti_batch, elapsed, 112, 48);
SLOT(tutti_batch, observed, 160, 48);
SLOT(tutti_batch, length, 208, 48);
SLOT(tutti_batch, future_known, 256, 48);
SLOT(tutti_batch, statics, 304, 48);
SLOT(tutti_batch, row, 352, 48);
SLOT(tutti_batch, target, 400, 48);
SLOT(tutti_batch, target_class, 448, 48);
SLOT(tutti_batch, weight, 496, 48);
GROWS(tutti_batch, 544);

SLOT(tutti_experience, struct_size, 0, 4);
SLOT(tutti_experience, reserved, 4, 4);
SLOT(tutti_experience, size, 8, 8);
SLOT(tutti_experience, series, 16, 48);
SLOT(tutti_experience, environment, 64, 48);
SLOT(tutti_experience, row, 112, 48);
SLOT(tutti_experience, next_row, 160, 48);
SLOT(tutti_experience, agent, 208, 48);
SLOT(tutti_experience, next_agent, 256, 48);
SLOT(tutti_experience, observation, 304, 48);
SLOT(tutti_experience, next_observation, 352, 48);
SLOT(tutti_experience, action, 400, 48);
SLOT(tutti_experience, reward, 448, 48);
SLOT(tutti_experience, terminated, 496, 48);
SLOT(tutti_experience, truncated, 544, 48);
SLOT(tutti_experience, ticket, 592, 48);
GROWS(tutti_experience, 640);

SLOT(tutti_output, struct_size, 0, 4);
SLOT(tutti_output, reserved, 4, 4);
SLOT(tutti_output, point, 8, 48);
SLOT(tutti_output, quantiles, 56, 48);
SLOT(tutti_output, classes, 104, 48);
SLOT(tutti_output, action_values, 152, 48);
SLOT(tutti_output, policy, 200, 48);
GROWS(tutti_output, 248);

SLOT(tutti_model_type, struct_size, 0, 4);
SLOT(tutti_model_type, training, 4, 4);
SLOT(tutti_model_type, id, 8, 8);
SLOT(tutti_model_type, name, 16, 8);
SLOT(tutti_model_type, summary, 24, 8);
SLOT(tutti_model_type, config_schema, 32, 8);
SLOT(tutti_model_type, inputs, 40, 4);
SLOT(tutti_model_type, answers, 44, 4);
SLOT(tutti_model_type, dtypes, 48, 4);
SLOT(tutti_model_type, flags, 52, 4);
SLOT(tutti_model_type, devices, 56, 8);
SLOT(tutti_model_type, class_labels, 64, 8);
SLOT(tutti_model_type, class_count, 72, 8);
SLOT(tutti_model_type, create, 80, 8);
SLOT(tutti_model_type, destroy, 88, 8);
SLOT(tutti_model_type, predict, 96, 8);
SLOT(tutti_model_type, reset, 104, 8);
SLOT(tutti_model_type, get_extension, 112, 8);
GROWS(tutti_model_type, 120);

SLOT(tutti_plugin, struct_size, 0, 4);
SLOT(tutti_plugin, abi_major, 4, 2);
SLOT(tutti_plugin, abi_minor, 6, 2);
SLOT(tutti_plugin, id, 8, 8);
SLOT(tutti_plugin, version, 16, 8);
SLOT(tutti_plugin, model_count, 24, 4);
SLOT(tutti_plugin, reserved, 28, 4);
SLOT(tutti_plugin, get_model, 32, 8);
GROWS(tutti_plugin, 40);

SLOT(tutti_scalar, name, 0, 8);
SLOT(tutti_scalar, value, 8, 8);
FIXED(tutti_scalar, 16);

SLOT(tutti_train_in, struct_size, 0, 4);
SLOT(tutti_train_in, reserved, 4, 4);
SLOT(tutti_train_in, batch, 8, 8);
SLOT(tutti_train_in, experience, 16, 8);
SLOT(tutti_train_in, gradient_steps, 24, 8);
SLOT(tutti_train_in, deadline_ns, 32, 8);
GROWS(tutti_train_in, 40);

SLOT(tutti_train_out, struct_size, 0, 4);
SLOT(tutti_train_out, state, 4, 4);
SLOT(tutti_train_out, gradient_steps, 8, 8);
SLOT(tutti_train_out, loss, 16, 8);
SLOT(tutti_train_out, scalar_count, 24, 4);
SLOT(tutti_train_out, reserved, 28, 4);
SLOT(tutti_train_out, scalars, 32, 256);
GROWS(tutti_train_out, 288);

SLOT(tutti_train, struct_size, 0, 4);
SLOT(tutti_train, reserved, 4, 4);
SLOT(tutti_train, step, 8, 8);
SLOT(tutti_train, notify, 16, 8);
GROWS(tutti_train, 24);

SLOT(tutti_act, struct_size, 0, 4);
SLOT(tutti_act, reserved, 4, 4);
SLOT(tutti_act, act, 8, 8);
GROWS(tutti_act, 16);

SLOT(tutti_parameter, struct_size, 0, 4);
SLOT(tutti_parameter, role, 4, 4);
SLOT(tutti_parameter, name, 8, 8);
SLOT(tutti_parameter, tensor, 16, 48);
GROWS(tutti_parameter, 64);

SLOT(tutti_parameters, struct_size, 0, 4);
SLOT(tutti_parameters, reserved, 4, 4);
SLOT(tutti_parameters, count, 8, 8);
SLOT(tutti_parameters, get, 16, 8);
SLOT(tutti_parameters, changed, 24, 8);
GROWS(tutti_parameters, 32);

SLOT(tutti_gradient, struct_size, 0, 4);
SLOT(tutti_gradient, reserved, 4, 4);
SLOT(tutti_gradient, evaluate, 8, 8);
GROWS(tutti_gradient, 16);

SLOT(tutti_stream, struct_size, 0, 4);
SLOT(tutti_stream, reserved, 4, 4);
SLOT(tutti_stream, create, 8, 8);
SLOT(tutti_stream, copy, 16, 8);
SLOT(tutti_stream, save, 24, 8);
SLOT(tutti_stream, load, 32, 8);
SLOT(tutti_stream, reset, 40, 8);
SLOT(tutti_stream, step, 48, 8);
SLOT(tutti_stream, destroy, 56, 8);
GROWS(tutti_stream, 64);

SLOT(tutti_trace, struct_size, 0, 4);
SLOT(tutti_trace, reserved, 4, 4);
SLOT(tutti_trace, run, 8, 8);
GROWS(tutti_trace, 16);

/* DLPack 1.0's DLTensor, member by member: https://dmlc.github.io/dlpack/latest/c_api.html */
typedef struct {
  int32_t device_type; /* an enum of int32_t */
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

#define AS_DLPACK(ours, our_member, theirs, their_member)                                                            \
  _Static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) &&                                     \
                     sizeof(((ours *)0)->our_member) == sizeof(((theirs *)0)->their_member),                         \
                 #ours "." #our_member " is not DLPack's " #their_member)

AS_DLPACK(tutti_device, type, DLDevice, device_type);
AS_DLPACK(tutti_device, id, DLDevice, device_id);
AS_DLPACK(tutti_dtype, code, DLDataType, code);
AS_DLPACK(tutti_dtype, bits, DLDataType, bits);
AS_DLPACK(tutti_dtype, lanes, DLDataType, lanes);
AS_DLPACK(tutti_tensor, data, DLTensor, data);
AS_DLPACK(tutti_tensor, device, DLTensor, device);
AS_DLPACK(tutti_tensor, ndim, DLTensor, ndim);
AS_DLPACK(tutti_tensor, dtype, DLTensor, dtype);
AS_DLPACK(tutti_tensor, shape, DLTensor, shape);
AS_DLPACK(tutti_tensor, strides, DLTensor, strides);
AS_DLPACK(tutti_tensor, byte_offset, DLTensor, byte_offset);
_Static_assert(sizeof(tutti_tensor) == sizeof(DLTensor), "tutti_tensor is not DLPack's DLTensor");
_Static_assert(TUTTI_CPU == 1 && TUTTI_CUDA == 2 && TUTTI_CPU_PINNED == 3, "kDLCPU, kDLCUDA, kDLCUDAHost");
_Static_assert(TUTTI_INT == 0 && TUTTI_UINT == 1 && TUTTI_FLOAT == 2, "kDLInt, kDLUInt, kDLFloat");
