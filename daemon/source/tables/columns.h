// Columns of a table that are held in memory: many short texts, and which rows lack a value. Filled by one thread; then
// constant.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::source {

// Texts without NUL, by number. Each takes its bytes and one more; every kStep texts take eight bytes.
class TextColumn {
 public:
  void add(std::string_view text) {
    if (size_++ % kStep == 0) starts_.push_back(texts_.size());
    texts_.append(text) += '\0';
  }
  // Ends in NUL.
  std::string_view operator[](uint64_t number) const {
    const char* text = texts_.data() + starts_[number / kStep];
    for (uint64_t i = number % kStep; i > 0; --i) text += std::string_view(text).size() + 1;
    return text;
  }
  // All texts, each ended by NUL.
  const std::string& texts() const { return texts_; }
  void add_all(const TextColumn& later) {
    for (std::string_view rest = later.texts_; !rest.empty();) {
      const std::string_view text = rest.substr(0, rest.find('\0'));
      add(text);
      rest.remove_prefix(text.size() + 1);
    }
  }
  uint64_t size() const { return size_; }
  friend bool operator==(const TextColumn&, const TextColumn&) = default;
  uint64_t memory_bytes() const { return texts_.capacity() + starts_.capacity() * sizeof(starts_[0]); }
  void fit() {
    texts_.shrink_to_fit();
    starts_.shrink_to_fit();
  }

 private:
  static constexpr uint64_t kStep = 16;
  std::string texts_;
  std::vector<uint64_t> starts_;
  uint64_t size_ = 0;
};

// A set of rows, empty for most columns: a bit a row up to the last row in it.
class RowSet {
 public:
  void add(uint64_t row) {
    if (row / 64 >= words_.size()) words_.resize(row / 64 + 1);
    words_[row / 64] |= uint64_t{1} << row % 64;
  }
  void add_all(uint64_t first, uint64_t end) {
    for (; first < end && first % 64 != 0; ++first) add(first);
    if (end > first && end / 64 > words_.size()) words_.resize(end / 64);
    for (; first + 64 <= end; first += 64) words_[first / 64] = ~uint64_t{0};
    for (; first < end; ++first) add(first);
  }
  bool has(uint64_t row) const { return row / 64 < words_.size() && (words_[row / 64] >> row % 64 & 1) != 0; }
  const std::vector<uint64_t>& words() const { return words_; }
  static RowSet of(std::vector<uint64_t> words) {
    RowSet rows;
    rows.words_ = std::move(words);
    return rows;
  }
  uint64_t memory_bytes() const { return words_.capacity() * sizeof(words_[0]); }
  uint64_t count() const {
    uint64_t rows = 0;
    for (const uint64_t word : words_) rows += static_cast<uint64_t>(std::popcount(word));
    return rows;
  }
  friend bool operator==(const RowSet&, const RowSet&) = default;

 private:
  std::vector<uint64_t> words_;
};

}  // namespace spdld::source
