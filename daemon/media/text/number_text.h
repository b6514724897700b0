// Numbers as people write them into files: decimal, in ASCII, with blanks, line ends or NULs around them. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld::text {

// An error (kContent) is a clause that cites the text's beginning: "'cat' is no decimal number".
Result<int64_t> integer_in(std::string_view text);
// The number is finite; where `as_float32` is set, also after rounding to `float`.
Result<double> number_in(std::string_view text, bool as_float32);

}  // namespace spdld::text
