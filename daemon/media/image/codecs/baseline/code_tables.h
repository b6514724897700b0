// Huffman codes as tables for the bits that come next. A look-up resolves one or two coefficients with their values,
// or, where values are not wanted, as many as fit.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::baseline {

inline constexpr int kValueBits = 10;                 // looked up at once where values are wanted
inline constexpr int kSkipBits = 12;                  // where they are not
inline constexpr int kLongBitsMax = kValueBits + 15;  // of a coefficient whose code lies in the look-up
inline constexpr int kSkippedBitsMax = 28;            // that a look-up skips, the last value's among them
// The end of a block, as a step: beyond every real place, so that it shows in a sum of steps.
inline constexpr int kEndStep = 128;

// T.81, F.2.2.1: the smaller half of the numbers of `size` bits stands for negative values.
inline int signed_value(uint32_t bits, int size) {
  if (size == 0) return 0;
  const int value = static_cast<int>(bits);
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

// The code that comes next, alone. length == 0: no code begins so.
struct Symbol {
  uint8_t length, symbol;
};

// Codes of up to 16 bits.
class CodeTable {
 public:
  // False: the lengths are of no code (libjpeg refuses them, too).
  [[nodiscard]] bool make(const CodeLengths& lengths, bool is_dc);
  // `next`: the 16 bits that come next.
  Symbol symbol(uint32_t next) const {
    for (int length = 1; length <= 16; ++length) {
      const auto code = static_cast<int32_t>(next >> (16 - length));
      const auto at = static_cast<size_t>(length);
      if (code <= last_[at]) return {static_cast<uint8_t>(length), symbols_[static_cast<size_t>(code + shift_[at])]};
    }
    return {0, 0};
  }

 private:
  std::array<int32_t, 17> last_{}, shift_{};  // of the codes of a length; -1: there are none
  std::array<uint8_t, 256> symbols_{};
};

struct DcTable {
  struct Entry {
    int16_t value;
    uint8_t bits;  // of code and value; 0: too long for the look-up
  };
  CodeTable codes;
  std::array<Entry, size_t{1} << kValueBits> entries;
};

struct AcTable {
  // One coefficient, or two that follow one another. Of one, the second is the first again, and its step is 0. Of one
  // whose value is too long for the look-up, the lengths of the code and of the value stand in the second one's place.
  struct Entry {
    int16_t first_value, second_value;
    uint8_t first_step, second_step;  // from the place of the coefficient before; kEndStep: the block ends
    uint8_t bits;                     // of all; 0: too long for the look-up

    // Where bits == 0: whether the code at least lies in the look-up.
    bool is_known() const { return second_value != 0; }
    int code_bits() const { return second_value; }
    int value_bits() const { return second_step; }
  };
  // Any number of coefficients whose codes lie in the look-up; the last value may reach beyond it.
  struct Skip {
    uint8_t step, bits;  // of all; bits == 0: too long
  };
  CodeTable codes;
  std::array<Entry, size_t{1} << kValueBits> entries;
  std::array<Skip, size_t{1} << kSkipBits> skips;
};

// False: no code, as CodeTable says.
[[nodiscard]] bool make_table(const CodeLengths& lengths, DcTable& table);
[[nodiscard]] bool make_table(const CodeLengths& lengths, AcTable& table);

}  // namespace spdld::image::baseline
