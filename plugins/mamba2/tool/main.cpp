// mamba2: looks into, converts and runs checkpoints of Mamba-2 language models, without the host.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "plugins/mamba2/checkpoint/checkpoint.h"
#include "shared/checkpoint/safetensors.h"
#include "shared/parallel/thread_pool.h"

namespace tutti::mamba2 {
namespace {

namespace fs = std::filesystem;
using Action = std::function<Result<void>()>;

// ---- inspect

const char* yes_or_no(bool value) { return value ? "yes" : "no"; }

Result<void> inspect(const fs::path& folder) {
  TUTTI_TRY(const SavedModel model, read_checkpoint(folder));
  const LanguageModelShape& shape = model.config.shape;
  const BlockShape& s = shape.block;
  int64_t parameters = 0;
  for (const Tensor& tensor : model.tensors) parameters += tensor.size();
  std::printf("layout            %s, %s\n", name_of(model.config.layout), model.f64 ? "f64" : "f32");
  std::printf("parameters        %lld\n", static_cast<long long>(parameters));
  const auto number = [](const char* name, int64_t value) { std::printf("%-17s %lld\n", name, static_cast<long long>(value)); };
  number("layers", shape.layers), number("vocabulary", shape.vocabulary()), number("d_model", s.d_model);
  number("d_inner", s.d_inner), number("d_ssm", s.d_ssm), number("heads", s.heads()), number("headdim", s.headdim);
  number("ngroups", s.ngroups), number("d_state", s.d_state), number("d_conv", s.d_conv), number("chunk", s.chunk);
  const auto flag = [](const char* name, bool value) { std::printf("%-17s %s\n", name, yes_or_no(value)); };
  flag("bias", s.bias), flag("conv_bias", s.conv_bias), flag("rmsnorm", s.rmsnorm), flag("grouped_norm", s.grouped_norm);
  flag("norm_before_gate", s.norm_before_gate), flag("D per channel", s.d_has_hdim),
      flag("tied embeddings", shape.tie_embeddings);
  std::printf("%-17s %g\n", "epsilon", s.epsilon);
  if (s.dt_limit_max < 1e38)
    std::printf("%-17s %g … %g\n", "dt_limit", s.dt_limit_min, s.dt_limit_max);
  else
    std::printf("%-17s %g …\n", "dt_limit", s.dt_limit_min);
  return {};
}

// ---- convert

struct Conversion {
  fs::path from, to;
  std::string layout;
  bool whole_norm = false;
};

Result<void> convert(const Conversion& wanted) {
  TUTTI_TRY(const CheckpointLayout layout, layout_named(wanted.layout));
  TUTTI_TRY(SavedModel model, read_checkpoint(wanted.from));
  if (wanted.whole_norm) model.config.shape.block.grouped_norm = false;
  if (model.f64) return write_checkpoint(wanted.to, layout, model.config.shape, model.weights<double>().data());
  return write_checkpoint(wanted.to, layout, model.config.shape, model.weights<float>().data());
}

// ---- run

struct Run {
  fs::path model, tokens, out;
  std::string dtype = "f32", kernels = "auto";
  bool gradients = false, whole_norm = false;
  int threads = 0;
};

struct Tokens {
  int64_t rows, steps;
  std::vector<int64_t> values;  // [rows, steps]

  View<const int64_t, 2> view(const std::vector<int64_t>& of) const { return {of.data(), {rows, steps}}; }
  // What each position is to foretell; after a row's last token, nothing.
  std::vector<int64_t> next() const {
    std::vector<int64_t> targets(values.size(), -1);
    for (int64_t r = 0; r < rows; ++r) std::copy_n(values.data() + r * steps + 1, steps - 1, targets.data() + r * steps);
    return targets;
  }
};

Result<Tokens> read_tokens(const fs::path& file, int64_t vocabulary) {
  TUTTI_TRY(const Checkpoint checkpoint, read_safetensors(file));
  const Tensor* tensor = checkpoint.find("tokens");
  if (!tensor || tensor->shape().size() != 2 || tensor->size() == 0 || !same_dtype(tensor->dtype(), dtype_of<int64_t>()))
    return bad_input(file.string() + " has no tensor \"tokens\" of i64 [rows, steps]");
  Tokens tokens{tensor->shape()[0], tensor->shape()[1], {}};
  tokens.values.assign(tensor->data<int64_t>(), tensor->data<int64_t>() + tensor->size());
  for (int64_t token : tokens.values)
    if (token < 0 || token >= vocabulary)
      return bad_input(file.string() + ": token " + std::to_string(token) + " is none of the model's 0 … " +
                       std::to_string(vocabulary - 1));
  return tokens;
}

template <class T>
Result<void> run(const Run& wanted, const SavedModel& saved) {
  TUTTI_TRY(const Tokens tokens, read_tokens(wanted.tokens, saved.config.shape.vocabulary()));
  LanguageModel<T> model(saved.config.shape, wanted.kernels.c_str());
  ThreadPool pool(wanted.threads);
  const std::vector<T> weights = saved.weights<T>();
  std::vector<NamedTensor> results;
  results.push_back({"logits", Tensor::of<T>({tokens.rows, tokens.steps, saved.config.shape.vocabulary()})});
  model.forward(pool, weights.data(), tokens.view(tokens.values), results[0].tensor.template data<T>());
  if (wanted.gradients) {
    std::vector<T> gradient(weights.size());
    const std::vector<int64_t> targets = tokens.next();
    results.push_back({"loss", Tensor::of<T>({})});
    *results[1].tensor.template data<T>() =
        model.loss_and_gradient(pool, weights.data(), tokens.view(tokens.values), tokens.view(targets), gradient.data());
    for (const Weight& weight : model.layout().weights()) {
      results.push_back({name_in(saved.config.layout, weight.name), Tensor::of<T>(weight.shape)});
      std::copy_n(gradient.data() + weight.offset, weight.size, results.back().tensor.template data<T>());
    }
  }
  std::vector<TensorToWrite> written;
  for (const NamedTensor& named : results) written.push_back({named.name, named.tensor.borrow()});
  return write_safetensors(wanted.out, written);
}

Result<void> run(const Run& wanted) {
  if (!find_kernels<double>(wanted.kernels.c_str()))
    return bad_input("there are no kernels \"" + wanted.kernels + "\"; choose auto, reference or chunked");
  TUTTI_TRY(SavedModel model, read_checkpoint(wanted.model));
  if (wanted.whole_norm) model.config.shape.block.grouped_norm = false;
  return wanted.dtype == "f64" ? run<double>(wanted, model) : run<float>(wanted, model);
}

// ---- The command line

constexpr const char* kWholeNorm = "Normalise over all channels, as transformers up to 5.22 did with several groups";

void add_inspect(CLI::App& app, Action& chosen) {
  const auto folder = std::make_shared<fs::path>();
  CLI::App* command = app.add_subcommand("inspect", "Shows a model's configuration and size");
  command->add_option("model", *folder, "Folder with config.json and model.safetensors")->required();
  command->callback([&chosen, folder] { chosen = [folder] { return inspect(*folder); }; });
}

void add_convert(CLI::App& app, Action& chosen) {
  const auto wanted = std::make_shared<Conversion>();
  CLI::App* command = app.add_subcommand("convert", "Writes a model in another layout; no number changes");
  command->add_option("--from", wanted->from, "Folder of the model")->required();
  command->add_option("--to", wanted->to, "Folder to write, without a model")->required();
  command->add_option("--layout", wanted->layout, "hf or state-spaces")->required();
  command->add_flag("--whole-norm", wanted->whole_norm, kWholeNorm);
  command->callback([&chosen, wanted] { chosen = [wanted] { return convert(*wanted); }; });
}

void add_run(CLI::App& app, Action& chosen) {
  const auto wanted = std::make_shared<Run>();
  CLI::App* command = app.add_subcommand("run", "Writes the logits of texts, and the loss with its gradients");
  command->add_option("model", wanted->model, "Folder with config.json and model.safetensors")->required();
  command->add_option("--tokens", wanted->tokens, "safetensors file with \"tokens\", i64 [rows, steps]")->required();
  command->add_option("--out", wanted->out, "safetensors file to write: \"logits\" [rows, steps, vocabulary] …")->required();
  command->add_option("--dtype", wanted->dtype, "f32 or f64")->check(CLI::IsMember({"f32", "f64"}));
  command->add_flag("--gradients", wanted->gradients,
                    "… and \"loss\", of foretelling each next token, and its gradients by weight");
  command->add_option("--kernels", wanted->kernels, "auto, reference or chunked");
  command->add_option("--threads", wanted->threads, "0 takes one for each core; no bit depends on it")
      ->check(CLI::Range(0, 4096));
  command->add_flag("--whole-norm", wanted->whole_norm, kWholeNorm);
  command->callback([&chosen, wanted] { chosen = [wanted] { return run(*wanted); }; });
}

int fail(const Error& error) {
  std::fprintf(stderr, "mamba2: %s\n", error.message.c_str());
  return error.code == ErrorCode::bad_input || error.code == ErrorCode::unsupported ? 2 : 1;
}

int run_program(int argc, char** argv) {
  CLI::App app{"Looks into, converts and runs checkpoints of Mamba-2 language models.", "mamba2"};
  app.require_subcommand(1);
  Action chosen;
  add_inspect(app, chosen), add_convert(app, chosen), add_run(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return fail(bad_input(std::string(error.what()) + "; see mamba2 --help"));
  }
  try {
    if (const Result<void> result = chosen(); !result) return fail(result.error());
  } catch (const std::exception& error) {
    return fail(failed(error.what()));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail(failed("standard output takes no more text"));
  return 0;
}

}  // namespace
}  // namespace tutti::mamba2

int main(int argc, char** argv) { return tutti::mamba2::run_program(argc, argv); }
