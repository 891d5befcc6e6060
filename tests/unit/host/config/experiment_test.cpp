#include "host/config/experiment.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace tutti {

namespace fs = std::filesystem;
using nlohmann::json;

// Lines 1 … 12; members begin in line 13.
static const std::string kHead =
    "name = \"small\"\n"
    "seed = 7\n"
    "[data]\n"
    "path = \"prices.csv\"\n"
    "targets = [\"alpha\"]\n"
    "[task]\n"
    "lookback = 16\n"
    "horizon = 3\n"
    "[split]\n"
    "kind = \"ratio\"\n"
    "train = 0.6\n"
    "valid = 0.2\n";
static const std::string kMember = "[[member]]\nplugin = \"tutti.ridge\"\n";

static std::string refusal(const std::string& toml) {
  const auto experiment = parse_experiment(toml, "small.toml");
  return experiment ? "(accepted)" : experiment.error().message;
}

static Experiment parse(const std::string& toml, const fs::path& path = "small.toml") {
  auto experiment = parse_experiment(toml, path);
  INFO((experiment ? "" : experiment.error().message));
  REQUIRE(experiment);
  return *std::move(experiment);
}

static std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("what is left out has the default that the header names") {
  const Experiment e = parse(kHead + kMember, "/lab/small.toml");
  CHECK(e.name == "small");
  CHECK(e.seed == 7);
  CHECK(e.file == "/lab/small.toml");
  CHECK(e.data_path == "/lab/prices.csv");
  CHECK(!e.schema.time);
  CHECK(e.targets == std::vector<std::string>{"alpha"});
  CHECK(e.features == e.targets);
  CHECK(e.schema.columns == e.targets);
  CHECK(e.schema.missing == Missing::refuse);
  CHECK(e.schema.separator == ',');
  CHECK(e.scaling == Scaling::standard);
  CHECK(e.season == 0);
  CHECK(e.window.lookback == 16);
  CHECK(e.window.horizon == 3);
  CHECK(e.window.stride == 1);
  CHECK(e.quantiles.empty());
  CHECK(e.f64);
  CHECK(e.split.kind == SplitPlan::Kind::ratio);
  CHECK(e.split.train == 0.6);
  CHECK(e.split.valid == 0.2);
  CHECK(e.split.purge == 3);  // the horizon
  CHECK(e.training.epochs == 20);
  CHECK(e.training.batch == 32);
  CHECK(e.training.patience == 3);
  CHECK(e.training.min_delta == 0);
  CHECK(e.combine == std::vector<std::string>{"mean", "median"});
  CHECK(e.metrics == std::vector<std::string>{"mae", "rmse", "mase", "smape", "directional-accuracy"});
  CHECK(e.original_units);
  REQUIRE(e.members.size() == 1);
  CHECK(e.members[0].name == "ridge");
  CHECK(e.members[0].plugin == "tutti.ridge");
  CHECK(e.members[0].config_json == "{}");
  CHECK(e.members[0].seed == 7);
  CHECK(e.members[0].place.text() == "/lab/small.toml:13");
  CHECK(parse(replaced(kHead, "name = \"small\"\n", "") + kMember).name == "small");  // of the file
}

static const std::string kWhole = R"(name = "whole"
seed = 9223372036854775807
[data]
path = "../data/prices.csv"
time = "date"
targets = ["alpha", "beta"]
features = ["volume", "beta"]
missing = "forward-fill"
scaling = "min-max"
season = 24
separator = "\t"
[task]
kind = "forecast"
lookback = 96
horizon = 12
stride = 2
quantiles = [0.1, 0.5, 0.9]
dtype = "f32"
[split]
kind = "borders"
train = 2020-01-31
valid = "2020-06-30T12:00"
test = 9000
purge = 0
[train]
epochs = 5
batch = 64
patience = 0
min_delta = 1e-3
[[member]]
plugin = "tutti.mamba2"
seeds = [1, 2]
config = { d_model = 64, dropout = 0.0, dt_limit = [0.1, 1], revin = true, kernels = "auto", inner = { rate = 1e-5 } }
epochs = 50
[[member]]
plugin = "tutti.ridge"
name = "plain"
min_delta = 0
[ensemble]
combine = ["stack"]
[report]
metrics = ["mse"]
units = "scaled"
)";

TEST_CASE("every key arrives where it belongs") {
  const Experiment e = parse(kWhole, "/lab/experiments/whole.toml");
  CHECK(e.seed == 9223372036854775807u);
  CHECK(e.data_path == "/lab/data/prices.csv");
  CHECK(e.schema.time == "date");
  CHECK(e.targets == std::vector<std::string>{"alpha", "beta"});
  CHECK(e.features == std::vector<std::string>{"volume", "beta"});
  CHECK(e.schema.columns == std::vector<std::string>{"volume", "beta", "alpha"});
  CHECK(e.schema.missing == Missing::forward_fill);
  CHECK(e.schema.separator == '\t');
  CHECK(e.scaling == Scaling::min_max);
  CHECK(e.season == 24);
  CHECK(e.window.stride == 2);
  CHECK(e.quantiles == std::vector<double>{0.1, 0.5, 0.9});
  CHECK(!e.f64);
  CHECK(e.split.kind == SplitPlan::Kind::borders);
  CHECK(std::get<std::string>(e.split.train_end.at) == "2020-01-31");
  CHECK(std::get<std::string>(e.split.valid_end.at) == "2020-06-30T12:00");
  CHECK(std::get<int64_t>(e.split.test_end->at) == 9000);
  CHECK(e.split.purge == 0);
  CHECK(e.training.batch == 64);
  CHECK(e.combine == std::vector<std::string>{"stack"});
  CHECK(e.combine_place.line == 40);
  CHECK(e.metrics == std::vector<std::string>{"mse"});
  CHECK(e.metrics_place.line == 42);
  CHECK(!e.original_units);
}

TEST_CASE("a member with several seeds becomes several, and its own keys go over those of [train]") {
  const Experiment e = parse(kWhole);
  REQUIRE(e.members.size() == 3);
  CHECK(e.members[0].name == "mamba2#1");
  CHECK(e.members[1].name == "mamba2#2");
  CHECK(e.members[1].seed == 2);
  CHECK(e.members[1].training.epochs == 50);
  CHECK(e.members[1].training.patience == 0);
  CHECK(e.members[1].training.batch == 64);
  CHECK(e.members[2].name == "plain");
  CHECK(e.members[2].training.epochs == 5);
  CHECK(e.members[2].training.min_delta == 0);
}

TEST_CASE("a configuration keeps whole numbers and others apart") {
  CHECK(parse(kWhole).members[0].config_json ==
        R"({"d_model":64,"dropout":0.0,"dt_limit":[0.1,1],"inner":{"rate":1e-05},"kernels":"auto","revin":true})");
}

TEST_CASE("walking forward has its keys") {
  const std::string head =
      replaced(kHead, "kind = \"ratio\"", "kind = \"walk-forward\"\nfolds = 4\ntraining = \"sliding\"\npurge = 9");
  const Experiment e = parse(head + kMember);
  CHECK(e.split.kind == SplitPlan::Kind::walk_forward);
  CHECK(e.split.folds == 4);
  CHECK(e.split.training == Training::sliding);
  CHECK(e.split.purge == 9);
}

TEST_CASE("an experiment comes back from JSON the same") {
  const std::string walk = replaced(kHead, "kind = \"ratio\"", "kind = \"walk-forward\"\nfolds = 4\ntraining = \"sliding\"");
  const std::string odd = replaced(kHead + kMember, "train = 0.6", "train = 0.60000000000000009");
  for (const std::string& toml : {kWhole, kHead + kMember, walk + kMember, odd}) {
    const Experiment e = parse(toml, "/lab/whole.toml");
    const std::string text = to_json(e);
    const auto back = experiment_from_json(text, "run/manifest.json");
    INFO((back ? "" : back.error().message));
    REQUIRE(back);
    CHECK(to_json(*back) == text);
    CHECK(back->file == "run/manifest.json");
    CHECK(back->data_path == e.data_path);
    CHECK(back->schema.columns == e.schema.columns);
    CHECK(back->split.train == e.split.train);
    CHECK(back->members.size() == e.members.size());
    CHECK(back->members[0].config_json == e.members[0].config_json);
    CHECK(back->members[0].seed == e.members[0].seed);
  }
}

TEST_CASE("JSON doesn't depend on comments, on the order of keys or on defaults that are written out") {
  const std::string text = to_json(parse(kHead + kMember));
  CHECK(to_json(parse("# a comment\n" + kHead + "purge = 3\n" + kMember + "name = \"ridge\"\nseeds = [7]\nconfig = {}\n")) ==
        text);
  CHECK(to_json(parse(replaced(kHead, "lookback = 16\nhorizon = 3", "horizon = 3\nlookback = 16") + kMember)) == text);
  CHECK(to_json(parse(replaced(kHead, "seed = 7", "seed = 8") + kMember)) != text);
}

TEST_CASE("a damaged manifest is refused by name") {
  const json whole = json::parse(to_json(parse(kHead + kMember)));
  for (const auto& damage : std::vector<json>{{}, 3, json::array(), json::object(), "text"}) {
    const auto experiment = experiment_from_json(damage.dump(), "run/manifest.json");
    REQUIRE(!experiment);
    CHECK(experiment.error().message.starts_with("run/manifest.json: its experiment is damaged"));
  }
  for (const auto& [key, value] : whole.items()) {
    json less = whole;
    less.erase(key);
    CHECK(!experiment_from_json(less.dump(), "run/manifest.json"));
  }
  CHECK(!experiment_from_json("{", "run/manifest.json"));
}

TEST_CASE("each mistake is told with its line, what was found and what is wanted") {
  const std::string all = kHead + kMember;
  struct Bad {
    std::string toml, sentence;
  };
  const auto change = [&](const std::string& from, const std::string& to) { return replaced(all, from, to); };
  const std::vector<Bad> bad = {
      // unknown keys
      {change("lookback", "lokback"),
       "small.toml:7: unknown key \"lokback\" in [task] (did you mean \"lookback\"?); there are \"kind\", \"lookback\", "
       "\"horizon\", \"stride\", "
       "\"quantiles\" and \"dtype\""},
      {change("[task]", "[taks]"),
       "small.toml:6: unknown key \"taks\" (did you mean \"task\"?); there are \"name\", \"seed\", \"data\", \"task\", "
       "\"split\", \"train\", "
       "\"ensemble\", \"report\" and \"member\""},
      {all + "batch = 3\n",
       "small.toml:15: unknown key \"batch\" in [[member]]; there are \"plugin\", \"name\", \"config\", \"epochs\", "
       "\"patience\", \"min_delta\" and "
       "\"seeds\""},
      {change("kind = \"ratio\"", "kind = \"ratio\"\nfolds = 3"),
       "small.toml:11: unknown key \"folds\" in [split]; there are \"kind\", \"train\", \"valid\" and \"purge\""},
      // missing keys and tables
      {change("lookback = 16\n", ""), "small.toml:6: \"lookback\" in [task] is missing"},
      {change("path = \"prices.csv\"\n", ""), "small.toml:3: \"path\" in [data] is missing"},
      {kMember, "small.toml:1: \"data\" is missing"},
      {kHead, "small.toml:1: there is no [[member]]; name at least one, with its plugin"},
      {change("[[member]]", "[member]"), "small.toml:13: [member] is a single table; write [[member]], with two brackets"},
      {change("plugin = \"tutti.ridge\"\n", ""), "small.toml:13: \"plugin\" in [[member]] is missing"},
      // wrong types
      {change("lookback = 16", "lookback = \"16\""),
       "small.toml:7: \"lookback\" in [task] is the text \"16\"; it must be a whole number"},
      {change("lookback = 16", "lookback = 16.0"),
       "small.toml:7: \"lookback\" in [task] is the number 16; it must be a whole number"},
      {change("targets = [\"alpha\"]", "targets = \"alpha\""),
       "small.toml:5: \"targets\" in [data] is the text \"alpha\"; it must be a list of texts"},
      {change("targets = [\"alpha\"]", "targets = [1]"),
       "small.toml:5: \"targets\" in [data] is the number 1; it must be a list of texts"},
      {change("train = 0.6", "train = true"), "small.toml:11: \"train\" in [split] is true; it must be a number"},
      {change("name = \"small\"", "name = 1979-05-27"), "small.toml:1: \"name\" is a date or time; it must be a text"},
      {"task = 3\n" + replaced(all, "[task]\nlookback = 16\nhorizon = 3\n", ""),
       "small.toml:1: \"task\" is the number 3; it must be a table"},
      // values
      {change("\"prices.csv\"", "\"\""), "small.toml:4: \"path\" in [data] is empty"},
      {change("lookback = 16", "lookback = 0"), "small.toml:7: \"lookback\" in [task] is 0; it must be within 1 to 1000000"},
      {change("seed = 7", "seed = -1"), "small.toml:2: \"seed\" is -1; it must be at least 0"},
      {change("name = \"small\"", "name = \"\""), "small.toml:1: \"name\" is empty"},
      {change("targets = [\"alpha\"]", "targets = []"), "small.toml:5: \"targets\" in [data] names no column"},
      {change("targets = [\"alpha\"]", "targets = [\"a\", \"a\"]"), "small.toml:5: \"targets\" in [data] names a column twice"},
      {change("targets = [\"alpha\"]", "time = \"alpha\"\ntargets = [\"alpha\"]"),
       "small.toml:6: \"targets\" in [data] names \"alpha\", which is the time column"},
      {change("targets = [\"alpha\"]", "time = \"t\"\nfeatures = [\"t\"]\ntargets = [\"alpha\"]"),
       "small.toml:6: \"features\" in [data] names \"t\", which is the time column"},
      {change("[task]", "separator = \"\"\n[task]"),
       "small.toml:6: \"separator\" in [data] must be one character that stands in no number, such as \",\", \";\" or \"\\t\""},
      {change("[task]", "separator = \".\"\n[task]"),
       "small.toml:6: \"separator\" in [data] must be one character that stands in no number, such as \",\", \";\" or \"\\t\""},
      {change("[task]", "missing = \"forwardfill\"\n[task]"),
       "small.toml:6: \"missing\" in [data] is \"forwardfill\" (did you mean \"forward-fill\"?); it must be one of \"refuse\", "
       "\"forward-fill\" and "
       "\"drop-row\""},
      {change("horizon = 3", "horizon = 3\nkind = \"trade\""),
       "small.toml:9: \"kind\" in [task] is \"trade\"; it must be \"forecast\""},
      {change("horizon = 3", "horizon = 3\nquantiles = [0.5, 0.1]"),
       "small.toml:9: \"quantiles\" in [task] must rise and lie inside 0 and 1"},
      {change("horizon = 3", "horizon = 3\nquantiles = [nan]"),
       "small.toml:9: \"quantiles\" in [task] must rise and lie inside 0 and 1"},
      {change("train = 0.6", "train = 0.9"),
       "small.toml:11: \"train\" and \"valid\" in [split] must be above 0 and leave a share for testing"},
      {change("train = 0.6", "train = 600"), "small.toml:11: \"train\" in [split] is 600; it must be within 0 to 1"},
      {change("train = 0.6", "train = nan"), "small.toml:11: \"train\" in [split] is nan; it must be within 0 to 1"},
      {replaced(change("kind = \"ratio\"", "kind = \"borders\""), "train = 0.6", "train = \"2020-01-31\""),
       "small.toml:11: \"train\" in [split] is a date, but [data] names no \"time\" column; give a row number"},
      {replaced(replaced(change("kind = \"ratio\"", "kind = \"borders\""), "train = 0.6", "train = \"soon\""), "path",
                "time = \"t\"\npath"),
       "small.toml:12: \"train\" in [split] is \"soon\", which is no date; write it like \"2024-02-29\""},
      {change("kind = \"ratio\"", "kind = \"borders\""),
       "small.toml:11: \"train\" in [split] is the number 0.6; it must be a row number or a date"},
      {all + "min_delta = inf\n", "small.toml:15: \"min_delta\" in [[member]] is inf; it must be a finite number of at least 0"},
      {all + "config = { rate = inf }\n", "small.toml:15: \"config\" in [[member]] holds a number that isn't finite"},
      {all + "seeds = []\n", "small.toml:15: \"seeds\" in [[member]] is empty"},
      {all + "seeds = [1, 2, 1]\n", "small.toml:15: \"seeds\" in [[member]] holds 1 twice"},
      {all + "seeds = [-1]\n", "small.toml:15: \"seeds\" in [[member]] holds a negative number"},
      {all + "[report]\nmetrics = []\n", "small.toml:16: \"metrics\" in [report] names no metric"},
      {all + "[ensemble]\ncombine = [\"mean\", \"mean\"]\n",
       "small.toml:16: \"combine\" in [ensemble] names a combination twice"},
      // names
      {all + kMember,
       "small.toml:15: the name \"ridge\" is taken by another member or combination; give this one a name of its own"},
      {change("tutti.ridge", "tutti.mean"),
       "small.toml:13: the name \"mean\" is taken by another member or combination; give this one a name of its own"},
  };
  for (const Bad& b : bad) {
    INFO(b.toml);
    CHECK(refusal(b.toml) == b.sentence);
  }
}

TEST_CASE("what is no TOML is refused with its line") {
  CHECK(refusal("name = \n").starts_with("small.toml:1: "));
  CHECK(refusal("name = \"a\"\nname = \"b\"\n").starts_with("small.toml:2: "));
  CHECK(refusal("[data]\n[data]\n").starts_with("small.toml:2: "));
}

TEST_CASE("no cut of a good file crashes the reader") {
  for (size_t cut = 0; cut < kWhole.size(); ++cut) {
    const std::string sentence = refusal(kWhole.substr(0, cut));
    if (sentence != "(accepted)") CHECK(sentence.starts_with("small.toml:"));
  }
}

TEST_CASE("a file that isn't there and a folder are refused by name") {
  CHECK(load_experiment("nowhere.toml").error().message == "nowhere.toml: there is no such experiment file");
  CHECK(load_experiment("/tmp").error().message == "/tmp: there is no such experiment file");
}

TEST_CASE("the experiments that come with the program are good") {
  for (const char* file : {"host/demo/treasury.toml", "tests/bench/etth1.toml", "tests/bench/etth1-lookback-96.toml"}) {
    const auto experiment = load_experiment(fs::path(TUTTI_SOURCE_DIR) / file);
    INFO((experiment ? "" : experiment.error().message));
    CHECK(experiment);
  }
}

}  // namespace tutti
