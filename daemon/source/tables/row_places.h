// Where the rows of a file lie, in few bytes a row: three where rows are short and follow one another, five where some
// are longer than 64 KiB. Filled by one thread; then constant.
//
// Rows are held in blocks of kStep. A block has the place of its first row, and the lengths of its rows in two or in
// four bytes each; a row begins behind the row before it, after as many bytes as lie between the file's first two rows
// (0 in CSV, 16 in TFRecord). A block whose rows lie otherwise has each row's place as well.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace spdld::source {

class RowPlaces {
 public:
  struct Place {
    uint64_t offset;  // in the file
    uint32_t length;  // bytes
    friend bool operator==(const Place&, const Place&) = default;
  };

  // In any order; no row ends beyond 2^64.
  void add(uint64_t offset, uint32_t length) {
    tail_[size_ % kStep] = {offset, length};
    if (++size_ % kStep == 0) pack();
  }
  uint64_t size() const { return size_; }
  Place operator[](uint64_t row) const { return row / kStep < blocks_.size() ? packed(row) : tail_[row % kStep]; }
  uint64_t memory_bytes() const { return blocks_.capacity() * sizeof(Block) + bytes_.capacity(); }
  void fit() {
    blocks_.shrink_to_fit();
    bytes_.shrink_to_fit();
  }

 private:
  static constexpr uint64_t kStep = 16;
  enum class Form : uint8_t { kShort, kLong, kFree };  // lengths of 2 bytes, of 4 bytes, of 4 bytes behind places of 8
  struct Block {
    uint64_t offset;      // of its first row
    uint64_t start : 56;  // in bytes_
    uint64_t form : 8;
  };

  void pack();
  Form form_of_tail() const;
  Place packed(uint64_t row) const;

  uint64_t size_ = 0, between_ = 0;
  std::vector<Block> blocks_;
  std::vector<uint8_t> bytes_;
  std::array<Place, kStep> tail_ = {};  // the rows behind the last whole block
};

}  // namespace spdld::source
