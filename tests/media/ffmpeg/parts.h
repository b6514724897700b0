// The parts of a file that code asks for, round by round, as a pipeline reads them.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"

namespace spdld::test {

class PartsOf {
 public:
  explicit PartsOf(const std::vector<uint8_t>& file) : file_(file) {}

  // Reads these parts, and no others.
  void read(std::vector<ByteRange> ranges) {
    ranges_ = std::move(ranges);
    join_ranges(ranges_, 0);
    bytes_.clear();
    for (const ByteRange& range : ranges_) {
      REQUIRE(range.end() <= file_.size());
      bytes_.insert(bytes_.end(), file_.begin() + static_cast<ptrdiff_t>(range.offset),
                    file_.begin() + static_cast<ptrdiff_t>(range.end()));
    }
    read_bytes_ += bytes_.size();
    ++rounds_;
  }
  ByteParts parts() const { return {file_.size(), ranges_, bytes_}; }
  uint64_t read_bytes() const { return read_bytes_; }  // in all rounds
  int rounds() const { return rounds_; }

  // Calls make(parts, unread) with more and more parts, until it wants no more.
  template <typename Make>
  auto run(Make make) {
    read({{0, std::min<uint64_t>(64 << 10, file_.size())}});
    for (;;) {
      std::vector<ByteRange> unread;
      auto made = make(parts(), unread);
      if (made || made.error().trouble != Trouble::kUnread) return made;
      REQUIRE_FALSE(unread.empty());
      REQUIRE(rounds_ < 12);
      read(std::move(unread));
    }
  }

 private:
  const std::vector<uint8_t>& file_;
  std::vector<ByteRange> ranges_;
  std::vector<uint8_t> bytes_;
  uint64_t read_bytes_ = 0;
  int rounds_ = 0;
};

}  // namespace spdld::test
