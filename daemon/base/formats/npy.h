// The header of a .npy file, as numpy.lib.format describes it (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html): the format versions 1.0, 2.0 and 3.0. The file is not trusted: the header's size, its numbers
// and its dimensions are bounded, and nothing recurses. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/dtype.h"
#include "daemon/base/result.h"

namespace spdld::array {

inline constexpr size_t kNpyHeaderBytesMax = 10'000;  // as numpy bounds it
inline constexpr size_t kNpyRankMax = 8;

// An array in a .npy file. Its bytes lie in the file.
struct Npy {
  config::DType dtype = config::DType::kUint8;
  bool is_big_endian = false;
  bool is_fortran = false;        // the first index runs fastest
  std::vector<uint64_t> shape;    // no product of it, in bytes, is beyond 64 bits
  std::span<const uint8_t> data;  // exactly as many bytes as the shape says
};

// Errors are kContent, and their text is a clause. The file is no .npy file, or the file is cut off, or no batch has
// elements of the file's type.
Result<Npy> read_npy(std::span<const uint8_t> file);

// Reads the first bytes of a file; kNpyStartBytesMax of them suffice. `data` is empty, and the elements begin at byte
// data_place of the file.
inline constexpr size_t kNpyStartBytesMax = 12 + kNpyHeaderBytesMax;
struct NpyStart {
  Npy npy;
  uint64_t data_place = 0;
};
Result<NpyStart> read_npy_start(std::span<const uint8_t> start);
// The bytes of all elements; none: they are beyond 64 bits.
std::optional<uint64_t> data_bytes(const Npy& npy);

// The value of the header: a dict literal of Python with exactly the keys 'descr', 'fortran_order' and 'shape'. Reads
// everything but the data.
Result<Npy> read_npy_header(std::string_view dict);

// The bytes before the elements of an array of this type and shape in a file of format 1.0, little-endian and in C's
// order. Precondition: `dtype` is one that numpy has.
std::string npy_start_of(config::DType dtype, std::span<const uint64_t> shape);

// Copies elements, and turns each one's bytes where the source's are big-endian.
void copy_elements(const Npy& from, uint64_t count, uint8_t* to);

// For people: "(3, 4)", "(3,)", "()".
std::string shape_text(std::span<const uint64_t> shape);

}  // namespace spdld::array
