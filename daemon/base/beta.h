// Numbers of the normal, and of the symmetric Beta and Dirichlet distributions, from a keyed draw: the same key gives
// the same number everywhere, as far as log, exp, sqrt and cos are the same.
//
// X / (X + Y) of numbers of the Gamma distribution, and for more parts each one's share of their sum, by G. Marsaglia
// and W. W. Tsang, "A simple method for generating gamma variables" (ACM TOMS 2000), with normal numbers by Box and
// Muller. Below 1, alpha is raised by 1 and the number multiplied by U^(1/alpha); all of this is done in logarithms,
// since such numbers get too small for a double. More than one try in twenty is refused nowhere, so kGammaTriesMax of
// them are never needed in practice; then the distribution's middle is taken.
#pragma once

#include <span>

#include "daemon/base/random.h"

namespace spdld {

inline constexpr int kGammaTriesMax = 64;

// Of mean 0 and variance 1.
double draw_normal(Draw& draw);
// In [0, 1]; alpha from 0.01 to 100.
double draw_beta(Draw& draw, double alpha);
// Parts whose sum is 1, of the Dirichlet distribution; of the same range of alpha.
void draw_parts(Draw& draw, double alpha, std::span<double> parts);

}  // namespace spdld
