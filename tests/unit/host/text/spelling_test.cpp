#include "host/text/spelling.h"

#include <catch2/catch.hpp>

namespace tutti {

TEST_CASE("the nearest right spelling is offered") {
  CHECK(did_you_mean("lokback", {"horizon", "lookback", "stride"}) == " (did you mean \"lookback\"?)");
  CHECK(did_you_mean("rsme", {"mse", "rmse"}) == " (did you mean \"rmse\"?)");
  CHECK(did_you_mean("medain", {"mean", "median"}) == " (did you mean \"median\"?)");
}

TEST_CASE("the case of letters makes no distance") {
  CHECK(did_you_mean("CLOSE", {"open", "close"}) == " (did you mean \"close\"?)");
  CHECK(did_you_mean("hull", {"HUFL", "HULL"}) == " (did you mean \"HULL\"?)");
}

TEST_CASE("nothing is offered where nothing is near") {
  CHECK(did_you_mean("volume", {"open", "close"}) == "");
  CHECK(did_you_mean("x", {"y"}) == "");
  CHECK(did_you_mean("anything", {}) == "");
}

TEST_CASE("names are listed in quotes, the last after and") {
  CHECK(list_of({}) == "");
  CHECK(list_of({"a"}) == "\"a\"");
  CHECK(list_of({"a", "b"}) == "\"a\" and \"b\"");
  CHECK(list_of({"a", "b", "c"}) == "\"a\", \"b\" and \"c\"");
}

}  // namespace tutti
