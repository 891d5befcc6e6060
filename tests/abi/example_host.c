/* A host that loads the example in C, as plain cc built it, and asks it in both number types.
 *
 *     example_host last_value.so
 */
#include <tutti/plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 3, F = 2, H = 2, TARGET = 1 };

#define EXPECT(truth)                                     \
  do {                                                    \
    if (!(truth)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #truth); \
      exit(1);                                            \
    }                                                     \
  } while (0)

static const tutti_host host = {
    .struct_size = sizeof host, .abi_major = TUTTI_ABI_MAJOR, .abi_minor = TUTTI_ABI_MINOR, .name = "example_host", .version = "1"};
static const int64_t target_feature[1] = {TARGET};
static const int64_t past_shape[3] = {B, T, F}, past_strides[3] = {T * F, F, 1};
static const int64_t point_shape[3] = {B, H, 1}, point_strides[3] = {H, 1, 1};

static tutti_problem problem_in(uint8_t bits) {
  const tutti_problem problem = {.struct_size = sizeof problem, .answers = TUTTI_ANSWER_POINT, .features = F,
                                 .lookback = T, .horizon = H, .targets = 1, .target_feature = target_feature,
                                 .dtype = {TUTTI_FLOAT, bits, 1}, .device = {TUTTI_CPU, 0}};
  return problem;
}

static tutti_tensor dense(void *data, uint8_t bits, const int64_t *shape, const int64_t *strides) {
  const tutti_tensor tensor = {.data = data, .device = {TUTTI_CPU, 0}, .ndim = 3, .dtype = {TUTTI_FLOAT, bits, 1},
                               .shape = shape, .strides = strides, .byte_offset = bits / 8};
  return tensor;
}

static void *number(void *tensor_data, uint8_t bits, int64_t index) {
  return (char *)tensor_data + (bits / 8) * (index + 1); /* the tensors begin a number late */
}

static void write_number(void *data, uint8_t bits, int64_t index, double value) {
  const float narrow = (float)value;
  memcpy(number(data, bits, index), bits == 32 ? (const void *)&narrow : &value, bits / 8);
}

static double read_number(void *data, uint8_t bits, int64_t index) {
  float narrow = 0;
  double wide = 0;
  memcpy(bits == 32 ? (void *)&narrow : &wide, number(data, bits, index), bits / 8);
  return bits == 32 ? narrow : wide;
}

/* Every answer is the target's value lag steps from the end. */
static void expect_lag(const tutti_model_type *type, uint8_t bits, const char *config, int64_t lag) {
  double past[B * T * F + 1], point[B * H + 1];
  const tutti_problem problem = problem_in(bits);
  const tutti_batch batch = {.struct_size = sizeof batch, .size = B, .past = dense(past, bits, past_shape, past_strides)};
  const tutti_output output = {.struct_size = sizeof output, .point = dense(point, bits, point_shape, point_strides)};
  tutti_error error = {{0}};
  tutti_model *model = NULL;

  memset(point, 0xff, sizeof point);
  for (int64_t i = 0; i < B * T * F; ++i) write_number(past, bits, i, (double)i);
  EXPECT(type->create(&host, &problem, config, &model, &error) == TUTTI_OK);
  EXPECT(type->reset(model, &error) == TUTTI_OK);
  EXPECT(type->predict(model, &batch, &output, &error) == TUTTI_OK);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      EXPECT(read_number(point, bits, b * H + h) == (double)((b * T + T - lag) * F + TARGET));
  EXPECT(type->predict(model, NULL, &output, &error) == TUTTI_BAD_ARGUMENT && error.message[0]);
  type->destroy(model);
}

static void expect_refused(const tutti_model_type *type, tutti_problem problem, const char *config, tutti_status status,
                           const char *word) {
  tutti_error error = {{0}};
  tutti_model *model = NULL;
  EXPECT(type->create(&host, &problem, config, &model, &error) == status);
  EXPECT(model == NULL && strstr(error.message, word));
  EXPECT(type->create(&host, &problem, config, &model, NULL) == status);
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  const tutti_plugin *(*entry)(uint32_t, uint32_t) = NULL;
  if (!library) {
    fprintf(stderr, "example_host: %s\n", argc == 2 ? dlerror() : "wants the path of a plugin");
    return 1;
  }
  *(void **)&entry = dlsym(library, "tutti_get_plugin");
  EXPECT(entry);
  EXPECT(!entry(TUTTI_ABI_MAJOR + 1, 0) && !entry(TUTTI_ABI_MAJOR - 1, 0));
  EXPECT(entry(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR) && entry(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR + 7));

  const tutti_plugin *plugin = entry(TUTTI_ABI_MAJOR, TUTTI_ABI_MINOR);
  EXPECT(strcmp(plugin->id, "org.example.last-value-c") == 0 && plugin->model_count == 1);
  EXPECT(!plugin->get_model(-1) && !plugin->get_model(1));
  const tutti_model_type *type = plugin->get_model(0);
  EXPECT(strcmp(type->id, "example.last-value") == 0);
  EXPECT(!type->get_extension("example.last-value/1"));

  expect_lag(type, 32, "{\"lag\":1}", 1);
  expect_lag(type, 32, "{\"lag\":3}", 3);
  expect_lag(type, 64, "{\"lag\": 2}", 2);

  tutti_problem problem = problem_in(16);
  expect_refused(type, problem, "{\"lag\":1}", TUTTI_UNSUPPORTED, "64-bit");
  problem = problem_in(32);
  expect_refused(type, problem, "{\"lag\":4}", TUTTI_BAD_ARGUMENT, "lag is 4, but only 3 steps");
  expect_refused(type, problem, "{\"lag\":0}", TUTTI_BAD_ARGUMENT, "lag is 0");
  problem.answers |= TUTTI_ANSWER_CLASSES;
  expect_refused(type, problem, "{\"lag\":1}", TUTTI_UNSUPPORTED, "points only");
  type->destroy(NULL);
  return dlclose(library);
}
