// A type for products and sums of 64-bit numbers, which may need more than 64 bits. Standard C++ has no such type; g++
// and clang do.
#pragma once

namespace spdld {

__extension__ using Wide = unsigned __int128;

}  // namespace spdld
