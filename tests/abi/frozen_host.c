/* A host of today's contract that loads the plugin frozen at version 1.0, trains it and asks it.
 *
 *     frozen_host mean_1_0.so
 */
#include <tutti/plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int lines_logged;
static _Alignas(64) double scratch_memory[64];

static void log_line(const tutti_host *host, int32_t level, const char *text) {
  (void)host, (void)level, (void)text;
  ++lines_logged;
}

static void *scratch(const tutti_host *host, uint64_t bytes) {
  (void)host;
  return bytes <= sizeof scratch_memory ? scratch_memory : NULL;
}

#define EXPECT(truth)                                     \
  do {                                                    \
    if (!(truth)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #truth); \
      exit(1);                                            \
    }                                                     \
  } while (0)

/* [1, 2, 1] f64. */
static tutti_tensor dense(double *data) {
  static const int64_t shape[3] = {1, 2, 1}, strides[3] = {2, 1, 1};
  tutti_tensor tensor = {.data = data, .device = {TUTTI_CPU, 0}, .ndim = 3, .dtype = {TUTTI_FLOAT, 64, 1}};
  tensor.shape = shape;
  tensor.strides = strides;
  return tensor;
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  const tutti_plugin *(*entry)(uint32_t, uint32_t) = NULL;
  if (!library) {
    fprintf(stderr, "frozen_host: %s\n", argc == 2 ? dlerror() : "wants the path of a plugin");
    return 1;
  }
  *(void **)&entry = dlsym(library, "tutti_get_plugin");
  EXPECT(entry);
  EXPECT(entry(TUTTI_ABI_MAJOR + 1, 0) == NULL);

  const tutti_plugin *plugin = entry(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR);
  EXPECT(TUTTI_HAS(plugin, tutti_plugin, get_model));
  EXPECT(plugin->abi_major == 1 && plugin->abi_minor == 0 && plugin->model_count == 1);
  EXPECT(plugin->get_model(1) == NULL);
  const tutti_model_type *type = plugin->get_model(0);
  EXPECT(TUTTI_HAS(type, tutti_model_type, get_extension));
  EXPECT(strcmp(type->id, "example.mean-1-0") == 0);

  const tutti_host host = {.struct_size = sizeof host, .abi_major = TUTTI_ABI_MAJOR, .abi_minor = TUTTI_ABI_MINOR,
                           .name = "frozen_host", .version = "1", .log = log_line, .scratch = scratch};
  const int64_t target_feature[1] = {0};
  tutti_problem problem = {.struct_size = sizeof problem, .answers = TUTTI_ANSWER_POINT, .features = 1, .lookback = 2,
                           .horizon = 2, .targets = 1, .target_feature = target_feature,
                           .dtype = {TUTTI_FLOAT, 32, 1}, .device = {TUTTI_CPU, 0}};
  tutti_error error = {{0}};
  tutti_model *model = NULL;
  EXPECT(type->create(&host, &problem, "{}", &model, &error) == TUTTI_UNSUPPORTED);
  EXPECT(model == NULL && strstr(error.message, "f64"));
  problem.dtype.bits = 64;
  EXPECT(type->create(&host, &problem, "{}", &model, &error) == TUTTI_OK);

  double past[2] = {1, 2}, target[2] = {3, 5}, answer[2] = {0, 0};
  const tutti_batch batch = {.struct_size = sizeof batch, .size = 1, .past = dense(past), .target = dense(target)};
  const tutti_output output = {.struct_size = sizeof output, .point = dense(answer)};
  const tutti_train_in in = {.struct_size = sizeof in, .batch = &batch};
  tutti_train_out out = {.struct_size = sizeof out};
  const tutti_train *train = type->get_extension(TUTTI_TRAIN_ID);
  EXPECT(TUTTI_HAS(train, tutti_train, notify));
  EXPECT(train->notify(model, TUTTI_EVENT_TRAIN_BEGIN, 1, &error) == TUTTI_OK);
  EXPECT(train->step(model, &in, &out, &error) == TUTTI_OK);
  EXPECT(out.state == TUTTI_TRAIN_DONE && out.loss == 0.25 && out.scalar_count == 1 && out.scalars[0].value == 4);
  EXPECT(lines_logged == 1);

  EXPECT(type->predict(model, &batch, &output, &error) == TUTTI_OK);
  EXPECT(answer[0] == 4 && answer[1] == 4);

  const tutti_parameters *parameters = type->get_extension(TUTTI_PARAMETERS_ID);
  tutti_parameter parameter = {.struct_size = sizeof parameter};
  EXPECT(TUTTI_HAS(parameters, tutti_parameters, changed));
  EXPECT(parameters->count(model) == 1);
  EXPECT(parameters->get(model, 0, &parameter, &error) == TUTTI_OK);
  EXPECT(strcmp(parameter.name, "mean") == 0 && *(double *)parameter.tensor.data == 4);
  *(double *)parameter.tensor.data = 7;
  EXPECT(parameters->changed(model, &error) == TUTTI_OK);
  EXPECT(type->predict(model, &batch, &output, &error) == TUTTI_OK && answer[1] == 7);

  EXPECT(type->reset(model, &error) == TUTTI_OK);
  EXPECT(type->predict(model, &batch, &output, &error) == TUTTI_OK && answer[0] == 0);
  EXPECT(type->get_extension("org.example.unknown/1") == NULL);
  type->destroy(model);
  type->destroy(NULL);
  EXPECT(dlclose(library) == 0);
  return 0;
}
