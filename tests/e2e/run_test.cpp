#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "shared/checkpoint/safetensors.h"
#include "tests/support/experiment.h"
#include "tests/support/program.h"

using namespace tutti;
using namespace tutti::testing;

namespace {

// Every prediction file of a run, by its name inside the run.
std::map<std::string, std::string> predictions(const std::filesystem::path& run) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run / "predictions"))
    if (entry.is_regular_file()) files[std::filesystem::relative(entry.path(), run).string()] = text_of(entry.path());
  return files;
}

nlohmann::json manifest(const std::filesystem::path& run) { return nlohmann::json::parse(text_of(run / "manifest.json")); }

// A member's loss curve in the first fold, [epoch][column]; NaN for an empty cell.
std::vector<std::vector<double>> training_log(const std::filesystem::path& run, const std::string& member) {
  std::istringstream lines(text_of(run / ("checkpoints/fold-1/" + member + ".training.csv")));
  std::string line, cell;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "epoch,train_loss,valid_loss,learning_rate,seconds");
  std::vector<std::vector<double>> rows;
  while (std::getline(lines, line)) {
    rows.emplace_back();
    for (std::istringstream cells(line); std::getline(cells, cell, ',');)
      rows.back().push_back(cell.empty() ? NAN : std::stod(cell));
    REQUIRE(rows.back().size() == 5);
  }
  return rows;
}

struct SmallExperiment : TempDir {
  SmallExperiment() {
    write("prices.csv", prices_csv(400));
    write("small.toml", experiment_toml(std::string(kSimpleMembers) + kLearner));
  }
  std::string experiment() const { return (path() / "small.toml").string(); }
  Outcome evaluate(const std::string& out, const std::string& more = "") const {
    return tutti::testing::tutti("evaluate " + experiment() + " --out " + (path() / out).string() + " " + more);
  }
};

}  // namespace

TEST_CASE("a run leaves everything it promises and ends with a leaderboard and the report's path") {
  const SmallExperiment work;
  const Outcome outcome = work.evaluate("run");
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  for (const char* name : {"last-value", "ridge", "seasonal-naive", "mamba2", "mean", "median", "stack"})
    CHECK(outcome.out.find(name) != std::string::npos);
  CHECK(outcome.out.find((work / "run/report.html").string()) != std::string::npos);
  for (const char* file :
       {"manifest.json", "metrics.json", "leaderboard.txt", "report.html", "checkpoints/fold-1/mamba2.safetensors",
        "checkpoints/fold-2/ridge.safetensors", "predictions/fold-2/stack.safetensors", "predictions/fold-1/truth.safetensors"})
    CHECK(std::filesystem::exists(work.path() / "run" / file));
  CHECK_FALSE(std::filesystem::exists(work / "run.partial"));
}

TEST_CASE("the same experiment gives the same bits twice, and with 1 and 2 threads") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("one", "--threads 1").exit_code == 0);
  REQUIRE(work.evaluate("two", "--threads 2").exit_code == 0);
  REQUIRE(work.evaluate("again", "--threads 2").exit_code == 0);
  const auto one = predictions(work / "one");
  CHECK(one.size() == 2 * 8);
  CHECK(one == predictions(work / "two"));
  CHECK(one == predictions(work / "again"));
  CHECK(text_of(work / "one/manifest.json") == text_of(work / "two/manifest.json"));
}

TEST_CASE("all members were shown the same batches") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const nlohmann::json whole = manifest(work / "run");
  for (const auto& fold : whole.at("folds")) {
    CHECK(fold.at("batches_agree") == true);
    const auto& shown = fold.at("batches_shown");
    CHECK(shown.size() == 4);
    for (const auto& [member, hashes] : shown.items()) {
      CHECK(hashes.at("test") == shown.at("ridge").at("test"));
      CHECK(hashes.at("valid") == shown.at("ridge").at("valid"));
    }
    CHECK(shown.at("mamba2").at("train_first_epoch") == shown.at("ridge").at("train_first_epoch"));
    CHECK(shown.at("ridge").at("test") != shown.at("ridge").at("valid"));
  }
}

TEST_CASE("what happens later changes no earlier forecast") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const int changed = 380;  // inside the last fold's test rows
  work.write("prices.csv", prices_csv(400, changed));
  REQUIRE(work.evaluate("other").exit_code == 0);
  int compared = 0, differ = 0;
  for (const char* entry : {"mamba2", "ridge", "last-value", "seasonal-naive", "mean", "stack"})
    for (const char* fold : {"fold-1", "fold-2"}) {
      const std::string file = std::string("predictions/") + fold + "/" + entry + ".safetensors";
      const auto before = read_safetensors(work.path() / "run" / file), after = read_safetensors(work.path() / "other" / file);
      REQUIRE(before);
      REQUIRE(after);
      const Tensor &origins = *before->find("origin"), &a = *before->find("point"), &b = *after->find("point");
      const int64_t cells = a.size() / origins.size();
      for (int64_t w = 0; w < origins.size(); ++w) {
        const bool same =
            std::memcmp(a.data<double>() + w * cells, b.data<double>() + w * cells, static_cast<size_t>(cells) * 8) == 0;
        if (origins.data<int64_t>()[w] >= changed) {
          differ += !same;
          continue;
        }
        CHECK(same);
        ++compared;
      }
    }
  CHECK(compared > 100);
  CHECK(differ > 0);  // the change does reach the forecasts after it
}

TEST_CASE("predict answers on new data as evaluate did on the same past") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const auto checkpoint = read_safetensors(work / "run/predictions/fold-2/stack.safetensors");
  REQUIRE(checkpoint);
  const Tensor& origins = *checkpoint->find("origin");
  const int64_t last = origins.data<int64_t>()[origins.size() - 1];
  std::string past = prices_csv(static_cast<int>(last) + 1);
  work.write("past.csv", past);
  const Outcome outcome = tutti::testing::tutti("predict " + (work / "run").string() + " --data " + (work / "past.csv").string());
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  std::istringstream lines(outcome.out);
  std::string header, line;
  std::getline(lines, header);
  CHECK(header == "origin,step,target,last-value,ridge,seasonal-naive,mamba2,mean,median,stack");
  const Tensor& point = *checkpoint->find("point");
  for (int64_t cell = 0; cell < 6; ++cell) {
    REQUIRE(std::getline(lines, line));
    CHECK(std::stod(line.substr(line.rfind(',') + 1)) == point.data<double>()[point.size() - 6 + cell]);
  }
}

TEST_CASE("training and evaluating in two steps gives what one step gives") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("whole").exit_code == 0);
  REQUIRE(tutti::testing::tutti("train " + work.experiment() + " --out " + (work / "steps").string()).exit_code == 0);
  CHECK(std::filesystem::exists(work / "steps/checkpoints/fold-1/mamba2.safetensors"));
  REQUIRE(work.evaluate("steps", "--resume").exit_code == 0);
  CHECK(predictions(work / "whole") == predictions(work / "steps"));
}

TEST_CASE("a training that was interrupted and resumed ends like one that wasn't") {
  const SmallExperiment work;
  const std::string members = std::string(kLearner) + "epochs = 40\npatience = 0\n";
  work.write("small.toml", experiment_toml(members));
  REQUIRE(work.evaluate("whole").exit_code == 0);
  const std::string state = (work / "cut.partial/checkpoints/fold-1/mamba2.training.safetensors").string();
  const Outcome cut = run("'" TUTTI_BINARY_DIR "/bin/tutti' evaluate " + work.experiment() + " --out " + (work / "cut").string() +
                          " & child=$!; while kill -0 $child 2>/dev/null && ! [ -e " + state +
                          " ]; do sleep 0.01; done; kill -INT $child; wait $child");
  CHECK(cut.exit_code == 1);
  CHECK(cut.err.find("--resume") != std::string::npos);
  REQUIRE(std::filesystem::exists(state));
  CHECK_FALSE(std::filesystem::exists(work / "cut"));
  REQUIRE(work.evaluate("cut", "--resume").exit_code == 0);
  CHECK(predictions(work / "whole") == predictions(work / "cut"));
  auto whole = training_log(work / "whole", "mamba2"), resumed = training_log(work / "cut", "mamba2");
  REQUIRE(resumed.size() == 40);
  for (size_t epoch = 0; epoch < whole.size(); ++epoch) whole[epoch].pop_back(), resumed[epoch].pop_back();  // seconds
  CHECK(whole == resumed);
}

TEST_CASE("a training leaves its loss curve, as the report draws it") {
  const SmallExperiment work;
  work.write("small.toml", experiment_toml(std::string(kSimpleMembers) + kLearner + "epochs = 5\npatience = 0\n"));
  REQUIRE(work.evaluate("run").exit_code == 0);
  const auto log = training_log(work / "run", "mamba2");
  REQUIRE(log.size() == 5);
  const auto results = nlohmann::json::parse(text_of(work / "run/metrics.json"));
  for (const auto& curve : results.at("curves")) {
    if (curve.at("member") != "mamba2" || curve.at("fold") != 0) continue;
    for (size_t epoch = 0; epoch < log.size(); ++epoch) {
      CHECK(log[epoch][0] == static_cast<double>(epoch + 1));
      CHECK(log[epoch][1] == curve.at("train").at(epoch));
      CHECK(log[epoch][2] == curve.at("valid").at(epoch));
      CHECK(log[epoch][4] > 0);
    }
  }
  CHECK(log[4][3] < log[0][3]);                      // the learning rate falls along its cosine
  CHECK(log[4][3] == Approx(0.05e-3).epsilon(0.2));  // to a twentieth of 1e-3
  CHECK_FALSE(std::filesystem::exists(work / "run/checkpoints/fold-1/ridge.training.csv"));  // closed form: no epochs
}

TEST_CASE("an older run is kept unless it is to be overwritten") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const std::string before = text_of(work / "run/metrics.json");
  const Outcome refused = work.evaluate("run");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--overwrite") != std::string::npos);
  CHECK(text_of(work / "run/metrics.json") == before);
  CHECK(work.evaluate("run", "--overwrite").exit_code == 0);
  const Outcome folder = work.evaluate("", "--overwrite");  // the folder of the experiment itself
  CHECK(folder.exit_code == 2);
  CHECK(std::filesystem::exists(work / "prices.csv"));
}

TEST_CASE("report rebuilds a run's report from its metrics") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const std::string html = text_of(work / "run/report.html"), text = text_of(work / "run/leaderboard.txt");
  std::filesystem::remove(work / "run/report.html");
  REQUIRE(tutti::testing::tutti("report " + (work / "run").string()).exit_code == 0);
  CHECK(text_of(work / "run/report.html") == html);
  CHECK(text_of(work / "run/leaderboard.txt") == text);
}

TEST_CASE("a checkpoint with a flipped bit is refused by name, in use and when going on") {
  const SmallExperiment work;
  REQUIRE(work.evaluate("run").exit_code == 0);
  const auto file = work.path() / "run/checkpoints/fold-2/mamba2.safetensors";
  std::string bytes = text_of(file);
  bytes[bytes.size() - 9] ^= 1;
  work.write("run/checkpoints/fold-2/mamba2.safetensors", bytes);
  const Outcome outcome =
      tutti::testing::tutti("predict " + (work / "run").string() + " --data " + (work / "prices.csv").string());
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("mamba2.safetensors: is damaged") != std::string::npos);
  CHECK(outcome.out.empty());
}

TEST_CASE("two programs never work in one run's folder") {
  const SmallExperiment work;
  work.write("small.toml", experiment_toml(std::string(kLearner) + "epochs = 40\npatience = 0\n"));
  const std::string state = (work / "run.partial/checkpoints/fold-1/mamba2.training.safetensors").string();
  const std::string command =
      "'" TUTTI_BINARY_DIR "/bin/tutti' evaluate " + work.experiment() + " --out " + (work / "run").string();
  const Outcome second =
      run(command + " 2>/dev/null & child=$!; while kill -0 $child 2>/dev/null && ! [ -e " + state + " ]; do sleep 0.01; done; " +
          command + " --overwrite; code=$?; kill -INT $child; wait $child; exit $code");
  CHECK(second.exit_code == 2);
  CHECK(second.err.find("another tutti is at work") != std::string::npos);
}

TEST_CASE("a folder called like an unfinished run, but none, is never emptied") {
  const SmallExperiment work;
  std::filesystem::create_directory(work / "run.partial");
  work.write("run.partial/keep", "precious");
  const Outcome outcome = work.evaluate("run", "--overwrite");
  CHECK(outcome.exit_code == 2);
  CHECK(text_of(work / "run.partial/keep") == "precious");
}

TEST_CASE("in f32 a model that repeats the last value never moves in a direction") {
  const SmallExperiment work;
  std::string toml = experiment_toml(kSimpleMembers);
  toml.replace(toml.find("horizon = 3"), 11, "horizon = 3\ndtype = \"f32\"");
  work.write("small.toml", toml);
  REQUIRE(work.evaluate("run").exit_code == 0);
  for (const auto& entry :
       nlohmann::json::parse(text_of(work / "run/metrics.json")).at("entries").get<std::vector<nlohmann::json>>())
    if (entry.at("name") == "last-value") CHECK(entry.at("overall").at("directional-accuracy") == 0.0);
}

TEST_CASE("members that can answer quantiles leave them with their forecasts") {
  const SmallExperiment work;
  std::string toml = experiment_toml(std::string(kSimpleMembers) + kLearner);
  toml.replace(toml.find("horizon = 3"), 11, "horizon = 3\nquantiles = [0.1, 0.5, 0.9]");
  work.write("small.toml", toml);
  const Outcome outcome = work.evaluate("run");
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto learner = read_safetensors(work / "run/predictions/fold-1/mamba2.safetensors");
  REQUIRE(learner);
  REQUIRE(learner->find("quantiles"));
  CHECK(learner->find("quantiles")->shape()[3] == 3);
  CHECK_FALSE(read_safetensors(work / "run/predictions/fold-1/ridge.safetensors")->find("quantiles"));
  CHECK(tutti::testing::tutti("predict " + (work / "run").string() + " --data " + (work / "prices.csv").string()).exit_code == 0);
}

TEST_CASE("output that can't be written doesn't end the work, and is told of") {
  const SmallExperiment work;
  CHECK(work.evaluate("run", "2>/dev/full").exit_code == 0);
  CHECK(std::filesystem::exists(work / "run/report.html"));
  CHECK(tutti::testing::tutti("report " + (work / "run").string() + " >/dev/full").exit_code == 1);
}
