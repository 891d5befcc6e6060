// Ways to weigh members by their errors on the validation windows. Each gives one weight a member, none negative, summing
// to 1. None is random: ties have a rule.
#pragma once

#include <vector>

#include "host/ensemble/error_products.h"

namespace tutti {

// w_m = (1/mse_m) / sum of 1/mse (Bates, Granger 1969, without the covariances). Members without any error share all.
std::vector<double> inverse_error_weights(const ErrorProducts& products);

// Greedy selection with replacement (Caruana et al., ICML 2004, section 2): picks times, the member whose addition to the
// average of the picks so far gives the least mse; then the shortest run of picks that reaches the least mse of all;
// w_m = its share of these picks. Errors within 1e-12 of each other are ties: a member picked before goes first, then
// the one named first.
std::vector<double> greedy_weights(const ErrorProducts& products, int picks = 100);

// The weights with the least mse of all: min w'Cw, w >= 0, sum w = 1. That is the point nearest to the truth in the convex
// hull of the members, found exactly in finitely many steps by Wolfe's algorithm (Mathematical Programming 11, 1976).
// At the end (Cw)_m = w'Cw where w_m > 0, and no less elsewhere. Of members that are alike, the one named first is used.
std::vector<double> stack_weights(const ErrorProducts& products);

}  // namespace tutti
