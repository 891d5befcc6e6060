// Numbers as a reader wants them: columns with one number of decimals, round ticks, short counts. Independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

// Decimals with which the smallest number still shows four figures, 0 … 6. NaN and infinity don't count.
int decimals_for(const std::vector<double>& column);

// "0.0831"; "1.234e+09" where it would be longer than 12; "-" for NaN.
std::string decimal(double x, int decimals);

// "1.23 M", "45.6 k", "812"; "" below 0.
std::string count(int64_t n);

// "3.2 s", "14 min", "85 ms".
std::string duration(double seconds);

// About wanted round numbers inside low … high, rising by 1, 2 or 5 times a power of ten; one at low where both are equal.
std::vector<double> round_ticks(double low, double high, int wanted);

// A tick's label, with the decimals that its neighbours' distance needs.
std::string tick_label(double tick, double distance);

}  // namespace tutti
