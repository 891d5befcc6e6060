// What the baselines' descriptors promise, as a host reads it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/baselines/drift.h"
#include "plugins/baselines/ewma.h"
#include "plugins/baselines/last_value.h"
#include "plugins/baselines/mean.h"
#include "plugins/baselines/ridge.h"
#include "plugins/baselines/seasonal_naive.h"

namespace tutti::baselines {
namespace {

// The configuration that a host makes of an empty one.
nlohmann::json defaults_of(const tutti_model_type* type) {
  const nlohmann::json schema = nlohmann::json::parse(type->config_schema);
  REQUIRE(schema.at("additionalProperties") == false);
  nlohmann::json config = nlohmann::json::object();
  for (const auto& [key, property] : schema.at("properties").items()) config[key] = property.at("default");
  return config;
}

TEST_CASE("each baseline's schema fills in a default for each of its options") {
  CHECK(defaults_of(border::Adapter<LastValue>::type()) == nlohmann::json::object());
  CHECK(defaults_of(border::Adapter<Drift>::type()) == nlohmann::json::object());
  CHECK(defaults_of(border::Adapter<SeasonalNaive>::type()) == nlohmann::json{{"season", 0}});
  CHECK(defaults_of(border::Adapter<Mean>::type()) == nlohmann::json{{"window", 0}});
  CHECK(defaults_of(border::Adapter<Ewma>::type()) == nlohmann::json{{"alpha", 0.1}});
  CHECK(defaults_of(border::Adapter<Ridge>::type()) == nlohmann::json{{"form", "linear"}, {"lookback", 0}, {"ridge", 1e-6}});
}

TEST_CASE("each baseline answers points in both dtypes, deterministically and row by row, for any lookback") {
  for (const tutti_model_type* type :
       {border::Adapter<LastValue>::type(), border::Adapter<SeasonalNaive>::type(), border::Adapter<Drift>::type(),
        border::Adapter<Mean>::type(), border::Adapter<Ewma>::type(), border::Adapter<Ridge>::type()}) {
    INFO(type->id);
    CHECK(type->answers == TUTTI_ANSWER_POINT);
    CHECK(type->dtypes == (TUTTI_DTYPE_F32 | TUTTI_DTYPE_F64));
    CHECK(type->flags == (TUTTI_DETERMINISTIC | TUTTI_ROW_INDEPENDENT | TUTTI_FREE_LOOKBACK | TUTTI_STRIDED_INPUT));
  }
}

}  // namespace
}  // namespace tutti::baselines
