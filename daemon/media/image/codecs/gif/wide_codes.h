// The coded data of GIF pictures whose codes begin with more than 9 bits, which giflib does not decode: its numbers
// have at most 8 bits. Some writers take more for a palette of 256 colours. One thread an object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace spdld::image {

class WideCodes {
 public:
  static constexpr int kBitsMin = 9, kBitsMax = 11;  // of a number

  // `rest` is what stands behind the number of bits; it is moved on as the blocks are read, and stays valid.
  WideCodes(int bits, std::span<const uint8_t>& rest);

  // The next numbers; of each the lowest 8 bits, as in Pillow. False: the data are damaged, or end too early.
  bool read(std::span<uint8_t> numbers);
  // Passes over the blocks that are left.
  void finish();

 private:
  static constexpr size_t kCodes = 4096;

  // The next code; none of them is so large where there is no other.
  unsigned next_code();
  bool next_byte(uint8_t& byte);
  // Puts the numbers that a code stands for on the stack. False: no code of now.
  bool expand(unsigned code);
  void start_over();

  std::span<const uint8_t>& rest_;
  const int bits_;
  size_t block_ = 0;  // the bytes of the block that are left
  bool at_end_ = false;
  uint32_t buffer_ = 0;
  int buffered_ = 0, width_ = 0;
  unsigned next_ = 0, last_ = kCodes;  // kCodes: there is no last code
  std::array<uint16_t, kCodes> before_{};
  std::array<uint8_t, kCodes> number_{}, stack_{};
  size_t stacked_ = 0;
};

}  // namespace spdld::image
