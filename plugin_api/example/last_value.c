/*
 * A whole plugin in one C file: the forecast that every future step equals the last one seen. The build is
 *
 *     cc -shared -fPIC -I plugin_api/include last_value.c -o last_value.so
 *
 * and the host takes last_value.so from any folder that it is told to look in. To make a model of your own, change the
 * ids, the option, what create keeps and what predict computes.
 */
#include <tutti/plugin.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY_ID "org.example.last-value-c"
#define LIBRARY_VERSION "1.0.0"

TUTTI_METADATA(LIBRARY_ID, LIBRARY_VERSION);

/* What a model keeps of its problem: the problem itself is only borrowed. */
struct tutti_model {
  int64_t features, lookback, horizon, targets;
  tutti_dtype dtype;
  int64_t lag;              /* the step that is repeated, counted from the end of the window */
  int64_t target_feature[]; /* [targets] */
};

static tutti_status fail(tutti_error *error, tutti_status status, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

/* ---- Making a model ------------------------------------------------------------------------------------------*/

static const char config_schema[] =
    "{\"type\": \"object\","
    " \"properties\": {"
    "   \"lag\": {\"type\": \"integer\", \"minimum\": 1, \"default\": 1,"
    "            \"description\": \"Which step is repeated, counted from the end of the window; 1 is the last\"}"
    " },"
    " \"additionalProperties\": false}";

/* The integer behind "name": in a flat JSON object. The host has checked the object against the schema and filled in
 * the defaults, so a model with a few numbers needs no JSON library. 0 where there is none. */
static int64_t integer_option(const char *config_json, const char *name) {
  char key[64];
  const char *found;
  snprintf(key, sizeof key, "\"%s\"", name);
  found = strstr(config_json, key);
  if (found) found = strchr(found + strlen(key), ':');
  return found ? strtoll(found + 1, NULL, 10) : 0;
}

static tutti_status create(const tutti_host *host, const tutti_problem *problem, const char *config_json,
                           tutti_model **model, tutti_error *error) {
  int64_t lag, k;
  tutti_model *made;

  if (!host || !problem || !config_json || !model)
    return fail(error, TUTTI_BAD_ARGUMENT, "create was given a null pointer");
  if (problem->answers != TUTTI_ANSWER_POINT)
    return fail(error, TUTTI_UNSUPPORTED, "this model answers points only; ask it for nothing else");
  if (problem->dtype.code != TUTTI_FLOAT || (problem->dtype.bits != 32 && problem->dtype.bits != 64))
    return fail(error, TUTTI_UNSUPPORTED, "this model computes in 32- or 64-bit floats only");
  if (problem->device.type != TUTTI_CPU)
    return fail(error, TUTTI_UNSUPPORTED, "this model computes on the CPU only; choose the device cpu");
  for (k = 0; k < problem->targets; ++k)
    if (problem->target_feature[k] < 0 || problem->target_feature[k] >= problem->features)
      return fail(error, TUTTI_UNSUPPORTED, "target %lld is not among the features, so it has no last value",
                  (long long)k);
  lag = integer_option(config_json, "lag");
  if (lag < 1) return fail(error, TUTTI_BAD_ARGUMENT, "lag is %lld; it must be at least 1", (long long)lag);
  if (lag > problem->lookback)
    return fail(error, TUTTI_BAD_ARGUMENT, "lag is %lld, but only %lld steps are seen; lower it or look back further",
                (long long)lag, (long long)problem->lookback);

  made = malloc(sizeof *made + (size_t)problem->targets * sizeof made->target_feature[0]);
  if (!made)
    return fail(error, TUTTI_OUT_OF_MEMORY, "no memory for a model of %lld targets", (long long)problem->targets);
  made->features = problem->features;
  made->lookback = problem->lookback;
  made->horizon = problem->horizon;
  made->targets = problem->targets;
  made->dtype = problem->dtype;
  made->lag = lag;
  for (k = 0; k < problem->targets; ++k) made->target_feature[k] = problem->target_feature[k];
  *model = made;
  return TUTTI_OK;
}

static void destroy(tutti_model *model) { free(model); }

/* Nothing is learned, so there is nothing to forget. */
static tutti_status reset(tutti_model *model, tutti_error *error) {
  return model ? TUTTI_OK : fail(error, TUTTI_BAD_ARGUMENT, "reset was given a null model");
}

/* ---- Answering -----------------------------------------------------------------------------------------------*/

/* Is the tensor of this dtype and shape [a,b,c]? Its strides need no look: a model type without TUTTI_STRIDED_INPUT
 * gets dense tensors. */
static int fits(const tutti_tensor *tensor, tutti_dtype dtype, int64_t a, int64_t b, int64_t c) {
  return tensor->ndim == 3 && tensor->dtype.code == dtype.code && tensor->dtype.bits == dtype.bits &&
         tensor->dtype.lanes == dtype.lanes && tensor->shape[0] == a && tensor->shape[1] == b && tensor->shape[2] == c;
}

static tutti_status predict(tutti_model *model, const tutti_batch *batch, const tutti_output *output,
                            tutti_error *error) {
  const char *past; /* [batch, lookback, features] */
  char *point;      /* [batch, horizon, targets]   */
  size_t bytes;     /* of a number; a copy needs to know no more */
  int64_t b, h, k;

  if (!model || !batch || !output) return fail(error, TUTTI_BAD_ARGUMENT, "predict was given a null pointer");
  if (!fits(&batch->past, model->dtype, batch->size, model->lookback, model->features))
    return fail(error, TUTTI_BAD_ARGUMENT, "past is not [%lld, %lld, %lld] of the problem's dtype",
                (long long)batch->size, (long long)model->lookback, (long long)model->features);
  if (!fits(&output->point, model->dtype, batch->size, model->horizon, model->targets))
    return fail(error, TUTTI_BAD_ARGUMENT, "point is not [%lld, %lld, %lld] of the problem's dtype",
                (long long)batch->size, (long long)model->horizon, (long long)model->targets);

  past = (const char *)batch->past.data + batch->past.byte_offset;
  point = (char *)output->point.data + output->point.byte_offset;
  bytes = model->dtype.bits / 8;
  for (b = 0; b < batch->size; ++b)
    for (h = 0; h < model->horizon; ++h)
      for (k = 0; k < model->targets; ++k) {
        const int64_t step = model->lookback - model->lag;
        const int64_t from = (b * model->lookback + step) * model->features + model->target_feature[k];
        const int64_t to = (b * model->horizon + h) * model->targets + k;
        memcpy(point + (size_t)to * bytes, past + (size_t)from * bytes, bytes);
      }
  return TUTTI_OK;
}

/* ---- The tables that the host reads --------------------------------------------------------------------------*/

/* A model that learns, streams or keeps parameters answers their ids here with a table. */
static const void *get_extension(const char *id) {
  (void)id;
  return NULL;
}

static const tutti_model_type last_value = {
    .struct_size = sizeof(tutti_model_type),
    .training = TUTTI_TRAINING_NONE,
    .id = "example.last-value",
    .name = "Last value, in C",
    .summary = "Every future step equals the last one seen, or one a little before it.",
    .config_schema = config_schema,
    .inputs = TUTTI_INPUT_PAST,
    .answers = TUTTI_ANSWER_POINT,
    .dtypes = TUTTI_DTYPE_F32 | TUTTI_DTYPE_F64,
    .flags = TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT,
    .devices = "cpu",
    .create = create,
    .destroy = destroy,
    .predict = predict,
    .reset = reset,
    .get_extension = get_extension,
};

static const tutti_model_type *get_model(int32_t index) { return index == 0 ? &last_value : NULL; }

static const tutti_plugin plugin = {
    .struct_size = sizeof(tutti_plugin),
    .abi_major = TUTTI_ABI_MAJOR,
    .abi_minor = TUTTI_ABI_MINOR,
    .id = LIBRARY_ID,
    .version = LIBRARY_VERSION,
    .model_count = 1,
    .get_model = get_model,
};

const tutti_plugin *tutti_get_plugin(uint32_t host_abi_major, uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return host_abi_major == TUTTI_ABI_MAJOR ? &plugin : NULL;
}
