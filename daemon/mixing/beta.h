// Numbers of the symmetric Beta distribution, from a keyed draw: the same key gives the same number everywhere, as far
// as log, exp, sqrt and cos are the same.
//
// X / (X + Y) of two numbers of the Gamma distribution, by G. Marsaglia and W. W. Tsang, "A simple method for
// generating gamma variables" (ACM TOMS 2000), with normal numbers by Box and Muller. Below 1, alpha is raised by 1 and
// the number multiplied by U^(1/alpha); all of this is done in logarithms, since such numbers get too small for a
// double. More than one try in twenty is refused nowhere, so kTriesMax of them are never needed in practice; then the
// distribution's middle is taken.
#pragma once

#include "daemon/base/random.h"

namespace spdld::mixing {

inline constexpr int kTriesMax = 64;

// In [0, 1]; alpha from 0.01 to 100.
double draw_beta(Draw& draw, double alpha);

}  // namespace spdld::mixing
