/* A plugin as it was written for version 1.0 of the contract; never to be changed. It answers the mean of the targets
 * that it was trained on, and uses the host's table, training and parameters. */
#include "plugin_1_0.h"

#include <stdlib.h>
#include <string.h>

TUTTI_METADATA("org.example.frozen-1-0", "1.0.0");

struct tutti_model {
  const tutti_host *host;
  int64_t numbers; /* in an answer of one row */
  double mean;
  double count;
};

static const int64_t scalar_shape[1] = {1}, scalar_strides[1] = {1};

static tutti_status create(const tutti_host *host, const tutti_problem *problem, const char *config_json,
                           tutti_model **model, tutti_error *error) {
  tutti_model *made;
  if (problem->dtype.bits != 64 || strcmp(config_json, "{}") != 0) {
    if (error) strcpy(error->message, "only 64-bit floats and no options; choose f64");
    return TUTTI_UNSUPPORTED;
  }
  made = calloc(1, sizeof *made);
  if (!made) return TUTTI_OUT_OF_MEMORY;
  made->host = host;
  made->numbers = problem->horizon * problem->targets;
  *model = made;
  return TUTTI_OK;
}

static void destroy(tutti_model *model) { free(model); }

static tutti_status predict(tutti_model *model, const tutti_batch *batch, const tutti_output *output, tutti_error *error) {
  double *point = output->point.data;
  int64_t i;
  (void)error;
  for (i = 0; i < batch->size * model->numbers; ++i) point[i] = model->mean;
  return TUTTI_OK;
}

static tutti_status reset(tutti_model *model, tutti_error *error) {
  (void)error;
  model->mean = model->count = 0;
  return TUTTI_OK;
}

static tutti_status step(tutti_model *model, const tutti_train_in *in, tutti_train_out *out, tutti_error *error) {
  const int64_t numbers = in->batch ? in->batch->size * model->numbers : 0;
  const double *target = in->batch ? in->batch->target.data : NULL;
  double *copy = model->host->scratch(model->host, (uint64_t)numbers * sizeof(double));
  int64_t i;
  (void)error;
  out->state = target ? TUTTI_TRAIN_DONE : TUTTI_TRAIN_NEEDS_DATA;
  if (!target) return TUTTI_OK;
  if (!copy) return TUTTI_OUT_OF_MEMORY;
  memcpy(copy, target, (size_t)numbers * sizeof(double));
  for (i = 0; i < numbers; ++i) model->mean += (copy[i] - model->mean) / ++model->count;
  out->gradient_steps = 1;
  out->loss = 0.25;
  out->scalar_count = 1;
  out->scalars[0].name = "mean";
  out->scalars[0].value = model->mean;
  model->host->log(model->host, TUTTI_LOG_INFO, "learned a batch");
  return TUTTI_OK;
}

static tutti_status notify(tutti_model *model, uint32_t event, double value, tutti_error *error) {
  (void)model, (void)event, (void)value, (void)error;
  return TUTTI_OK;
}

static int64_t count(tutti_model *model) {
  (void)model;
  return 1;
}

static tutti_status get(tutti_model *model, int64_t index, tutti_parameter *parameter, tutti_error *error) {
  (void)error;
  if (index != 0) return TUTTI_BAD_ARGUMENT;
  parameter->role = TUTTI_ROLE_WEIGHT;
  parameter->name = "mean";
  parameter->tensor.data = &model->mean;
  parameter->tensor.device.type = TUTTI_CPU;
  parameter->tensor.ndim = 1;
  parameter->tensor.dtype.code = TUTTI_FLOAT;
  parameter->tensor.dtype.bits = 64;
  parameter->tensor.dtype.lanes = 1;
  parameter->tensor.shape = scalar_shape;
  parameter->tensor.strides = scalar_strides;
  return TUTTI_OK;
}

static tutti_status changed(tutti_model *model, tutti_error *error) {
  (void)model, (void)error;
  return TUTTI_OK;
}

static const tutti_train train = {.struct_size = sizeof(tutti_train), .step = step, .notify = notify};
static const tutti_parameters parameters = {
    .struct_size = sizeof(tutti_parameters), .count = count, .get = get, .changed = changed};

static const void *get_extension(const char *id) {
  if (strcmp(id, TUTTI_TRAIN_ID) == 0) return &train;
  if (strcmp(id, TUTTI_PARAMETERS_ID) == 0) return &parameters;
  return NULL;
}

static const tutti_model_type mean = {
    .struct_size = sizeof(tutti_model_type),
    .training = TUTTI_TRAINING_SUPERVISED,
    .id = "example.mean-1-0",
    .name = "Mean, frozen at 1.0",
    .summary = "Every answer is the mean of the targets seen in training.",
    .config_schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
    .answers = TUTTI_ANSWER_POINT,
    .dtypes = TUTTI_DTYPE_F64,
    .flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT,
    .devices = "cpu",
    .create = create,
    .destroy = destroy,
    .predict = predict,
    .reset = reset,
    .get_extension = get_extension,
};

static const tutti_model_type *get_model(int32_t index) { return index == 0 ? &mean : NULL; }

static const tutti_plugin plugin = {
    .struct_size = sizeof(tutti_plugin),
    .abi_major = TUTTI_ABI_MAJOR,
    .abi_minor = TUTTI_ABI_MINOR,
    .id = "org.example.frozen-1-0",
    .version = "1.0.0",
    .model_count = 1,
    .get_model = get_model,
};

const tutti_plugin *tutti_get_plugin(uint32_t host_abi_major, uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return host_abi_major == TUTTI_ABI_MAJOR ? &plugin : NULL;
}
