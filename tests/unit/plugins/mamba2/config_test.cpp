#include "plugins/mamba2/config.h"

#include "tests/unit/plugins/mamba2/contract_fixture.h"

using namespace tutti;
using namespace tutti::mamba2;

namespace {

std::string refusal_of(const nlohmann::json& changes) {
  const TestHost host;
  const Problem problem = small_problem();
  const tutti_problem p = problem.borrow();
  tutti_model* model = nullptr;
  tutti_error error{};
  REQUIRE(model_type()->create(host.table(), &p, config_with(changes).c_str(), &model, &error) == TUTTI_BAD_ARGUMENT);
  REQUIRE(model == nullptr);
  return error.message;
}

}  // namespace

TEST_CASE("every key of the schema has a description, a default and bounds") {
  const auto schema = nlohmann::json::parse(config_schema());
  CHECK(schema.at("additionalProperties") == false);
  for (const auto& [key, property] : schema.at("properties").items()) {
    INFO(key);
    CHECK(property.contains("description"));
    CHECK(property.contains("default"));
    if (property.at("type") == "integer" || property.at("type") == "number") {
      CHECK(property.at("minimum") <= property.at("default"));
      CHECK(property.at("maximum") >= property.at("default"));
    }
    if (property.at("type") == "string") CHECK(property.contains("enum"));
  }
}

TEST_CASE("a configuration that doesn't fit is refused with its key and a cure") {
  CHECK(refusal_of({{"d_model", 64}, {"headdim", 24}}) ==
        "headdim 24 doesn't divide d_ssm 128; choose one of 1, 2, 4, 8, 16, 32, 64, 128");
  CHECK(refusal_of({{"d_model", 64}, {"headdim", 32}, {"ngroups", 3}}) ==
        "ngroups 3 doesn't divide the 4 heads; choose one of 1, 2, 4");
  CHECK_THAT(refusal_of({{"d_model", 8}, {"d_ssm", 17}}), Catch::Contains("d_ssm 17 is above d_inner 16"));
  CHECK_THAT(refusal_of({{"dt_min", 0.5}}), Catch::Contains("dt_min"));
  CHECK_THAT(refusal_of({{"dt_limit_min", 2}, {"dt_limit_max", 1}}), Catch::Contains("dt_limit_min"));
  CHECK_THAT(refusal_of({{"patch", 13}}), Catch::Contains("patch 13 is longer than the lookback 12"));
}

TEST_CASE("kernels that this machine can't run are refused with those that it can") {
  int refused = 0;
  for (const std::string name : {"reference", "generic", "avx2", "avx512"}) {
    if (find_kernels<float>(name.c_str())) continue;
    ++refused;
    const std::string refusal = refusal_of({{"kernels", name}});
    CHECK_THAT(refusal, Catch::Contains("\"" + name + "\" don't run on this machine"));
    for (const char* runs : kernel_names()) CHECK_THAT(refusal, Catch::Contains(runs));
  }
  CHECK(refused > 0);  // generic and the sets of a processor exclude each other
}

TEST_CASE("a head's width is chosen where none is given") {
  const auto headdim_of = [](int64_t d_model, int64_t ngroups) {
    const auto config =
        read_config(*Options::parse(config_with({{"d_model", d_model}, {"ngroups", ngroups}}).c_str()), small_problem());
    REQUIRE(config);
    return config->block.headdim;
  };
  CHECK(headdim_of(64, 1) == 64);
  CHECK(headdim_of(20, 1) == 40);
  CHECK(headdim_of(64, 4) == 32);
  CHECK(headdim_of(7, 7) == 2);
}
