// What a listing passed over and why: the first hundred sentences and how many there were. Owned by one thread at a
// time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spdld::source {

class Remarks {
 public:
  void add(std::string sentence) {
    if (first_.size() < kKept) first_.push_back(std::move(sentence));
    ++count_;
  }
  // `count` more, whose sentences are not known.
  void add_uncited(uint64_t count) { count_ += count; }
  // Appends those of a later part of the listing.
  void add_all(Remarks&& later) {
    for (std::string& sentence : later.first_) {
      if (first_.size() < kKept) first_.push_back(std::move(sentence));
    }
    count_ += later.count_;
  }
  const std::vector<std::string>& first() const { return first_; }
  uint64_t count() const { return count_; }

 private:
  static constexpr size_t kKept = 100;
  std::vector<std::string> first_;
  uint64_t count_ = 0;
};

}  // namespace spdld::source
