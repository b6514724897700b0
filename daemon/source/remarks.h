// A listing's remarks on its data set: the first hundred sentences and how many there were, and the sentences about
// samples that are lost (a folder that can't be read, an archive that was cut). Owned by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spdld::source {

class Remarks {
 public:
  struct Sentences {
    void add(std::string sentence) {
      if (first.size() < kKept) first.push_back(std::move(sentence));
      ++count;
    }
    void add_all(const Sentences& later, std::string_view prefix) {
      for (const std::string& sentence : later.first)
        if (first.size() < kKept) first.push_back(std::string(prefix) + sentence);
      count += later.count;
    }
    std::vector<std::string> first;
    uint64_t count = 0;
  };

  Remarks() = default;
  // Remarks that were told before: the sentences of `missing` are in `all` as well.
  Remarks(Sentences all, Sentences missing) : all_(std::move(all)), missing_(std::move(missing)) {}

  // Adds a sentence about something by which no sample is lost.
  void add(std::string sentence) { all_.add(std::move(sentence)); }
  // Adds a sentence about samples that are lost, or may be: on_missing then decides whether the listing is refused.
  void add_missing(const std::string& sentence) {
    all_.add(sentence);
    missing_.add(sentence);
  }
  // Appends the remarks of a later part of the listing, each after `prefix`.
  void add_all(const Remarks& later, std::string_view prefix = {}) {
    all_.add_all(later.all_, prefix);
    missing_.add_all(later.missing_, prefix);
  }
  const Sentences& all() const { return all_; }
  const Sentences& missing() const { return missing_; }

 private:
  static constexpr size_t kKept = 100;
  Sentences all_, missing_;
};

}  // namespace spdld::source
