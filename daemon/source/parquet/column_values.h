// The values of a column in a row group, as the fields of samples have them. Made by one thread; then constant.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/raw_bytes.h"
#include "daemon/source/tables/columns.h"

namespace spdld::source::parquet {

// The values that stand for nulls.
struct Nulls {
  bool are_bad = true;  // a row without a value is a bad sample; else it has these values:
  double number = 0;    // NaN is 0 where numbers are whole
  std::string text = {};
};

class ColumnValues {
 public:
  // `width`: of each row's value, in bytes; 0: they differ. The values go into `memory`, whose bytes are lost.
  explicit ColumnValues(size_t width = 0, RawBytes memory = {}) : width_(width), bytes_(std::move(memory)) {
    bytes_.clear();
  }

  void reserve(uint64_t rows, uint64_t bytes) {
    bytes_.reserve(bytes);
    if (width_ == 0) ends_.reserve(rows);
  }
  // Adds to the row that is being made.
  void append(const void* bytes, size_t size) { bytes_.append(bytes, size); }
  void end_row() {
    if (width_ == 0) ends_.push_back(bytes_.size());
    ++rows_;
  }
  void mark_null() { nulls_.add(rows_); }  // the row that is being made
  void mark_beyond() { beyond_.add(rows_); }
  void fit() {
    if (bytes_.capacity() > bytes_.size() + bytes_.size() / 4) bytes_.shrink_to_fit();
  }
  // The values are lost.
  RawBytes take_memory() { return std::move(bytes_); }

  uint64_t rows() const { return rows_; }
  uint64_t size() const { return bytes_.size(); }
  std::span<const uint8_t> operator[](uint64_t row) const {
    if (width_ != 0) return bytes_.bytes().subspan(row * width_, width_);
    const uint64_t start = row == 0 ? 0 : ends_[row - 1];
    return bytes_.bytes().subspan(start, ends_[row] - start);
  }
  bool is_null(uint64_t row) const { return nulls_.has(row); }
  // The file has a number there that the column's type can't hold: the row has no value.
  bool is_beyond(uint64_t row) const { return beyond_.has(row); }
  uint64_t memory_bytes() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(uint64_t) + nulls_.memory_bytes() + beyond_.memory_bytes();
  }

 private:
  size_t width_;
  uint64_t rows_ = 0;
  RawBytes bytes_;
  std::vector<uint64_t> ends_;
  RowSet nulls_, beyond_;
};

}  // namespace spdld::source::parquet
