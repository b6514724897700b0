// The parameters, checks and signatures that operations which move a picture's pixels have in common: affine, rotate,
// perspective, elastic, pad and zoom-out. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

// How a warp's pixels are taken, and their colour where the picture has none.
Parameter warp_filter(std::string_view fallback);
Parameter warp_fill();
// The place around which the picture turns.
Parameter warp_center();

// An operation with these parameters, with `p` and `draw` behind them, whose result has the picture's size.
OperationType warp_operation(std::string_view name, std::string_view help, std::vector<Parameter> parameters, double p);

// Warps move pixels of 8 bits, of 1 or 3 channels; the error for any other picture. Behind it the picture's places are
// not the sample's own any more.
std::string bind_warp(const OperationSpec& spec, Signature& signature);
// As bind_warp(), for a warp whose result has a size that is known for no sample.
std::string bind_warp_of_any_size(const OperationSpec& spec, Signature& signature);

// Brings one number x into [-x, x], and complains about a negative one; complains about two numbers whose least is not
// the first.
void check_turn(OperationSpec& spec, std::string_view name, const Complain& complain);
// Complains about `fill` with two numbers, `center` with one, and about `draw`.
void check_warp(OperationSpec& spec, const Complain& complain);

}  // namespace spdld::config::ops
