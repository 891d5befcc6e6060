// Small experiments on made-up prices, for tests that run the whole program.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "shared/random/philox.h"
#include "tests/support/temp_dir.h"

namespace tutti::testing {

// rows daily prices of two series that swing and drift, with dates from 2000-01-01. From row changed on, other noise.
inline std::string prices_csv(int rows, int changed = 1 << 30) {
  std::string text = "date,alpha,beta\n";
  const Philox noise(11), other(12);
  double drift = 0;
  for (int t = 0; t < rows; ++t) {
    const Philox& source = t < changed ? noise : other;
    drift += 0.1 * source.normal(static_cast<uint64_t>(t));
    const double alpha = 50 + drift + 3 * std::sin(t * 0.4),
                 beta = 20 + 0.5 * drift + 2 * std::cos(t * 0.25) + 0.05 * source.normal(100000 + static_cast<uint64_t>(t));
    const int year = 2000 + t / 336, month = t / 28 % 12 + 1, day = t % 28 + 1;
    char line[96];
    std::snprintf(line, sizeof line, "%04d-%02d-%02d,%.6f,%.6f\n", year, month, day, alpha, beta);
    text += line;
  }
  return text;
}

// An experiment over prices.csv in the same folder; members and combine are TOML text.
inline std::string experiment_toml(const std::string& members, const std::string& combine = "[\"mean\", \"median\", \"stack\"]") {
  return "name = \"small\"\nseed = 3\n"
         "[data]\npath = \"prices.csv\"\ntime = \"date\"\ntargets = [\"alpha\", \"beta\"]\nseason = 7\n"
         "[task]\nlookback = 16\nhorizon = 3\n"
         "[split]\nkind = \"walk-forward\"\nfolds = 2\ntrain = 0.6\nvalid = 0.15\n"
         "[train]\nepochs = 2\nbatch = 32\n" +
         members + "[ensemble]\ncombine = " + combine + "\n";
}

inline const char* kSimpleMembers =
    "[[member]]\nplugin = \"tutti.last-value\"\n"
    "[[member]]\nplugin = \"tutti.ridge\"\n"
    "[[member]]\nplugin = \"tutti.seasonal-naive\"\n";

inline const char* kLearner =
    "[[member]]\nplugin = \"tutti.mamba2\"\nconfig = { d_model = 8, headdim = 8, d_state = 4, layers = 1, dropout = 0.1 }\n";

}  // namespace tutti::testing
