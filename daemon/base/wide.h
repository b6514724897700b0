// Products and sums of 64-bit numbers that are wider than these. Standard C++ has no such type; g++ and clang do.
#pragma once

namespace spdld {

__extension__ using Wide = unsigned __int128;

}  // namespace spdld
