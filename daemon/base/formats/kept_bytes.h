// How listings and indexes that are kept are written: numbers in groups of seven bits, the lowest first, the eighth bit
// set where more follow (LEB128); signed numbers so that small ones of either sign are short, as 0, -1, 1, -2, ... are
// 0, 1, 2, 3, ...; texts as their length and their bytes. The reader trusts nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spdld {

// One thread.
class KeptWriter {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void signed_number(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After a failed read ok() is false, and all further reads give 0 or an empty text. Borrows the bytes; one thread.
class KeptReader {
 public:
  explicit KeptReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::string_view text() {
    const uint64_t size = number();
    if (size > rest_.size()) fail();
    const std::string_view value = rest_.substr(0, ok_ ? size : 0);
    rest_.remove_prefix(value.size());
    return value;
  }
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace spdld
