// Some samples of a listing, in its order: a bijection of 0 .. size()-1 on their ids. The sampler orders these numbers;
// all other code uses ids. Held as ranges of neighbouring ids, so that its memory grows with the lists that were given
// (16 bytes an entry) and not with the data set. Constant; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spdld::sampler {

class Subset {
 public:
  using Ids = std::vector<uint64_t>;  // in any order, some perhaps twice

  // All of 0 .. listed-1.
  explicit Subset(uint64_t listed);
  // Takes the ids that `include` names (none given: all), without the ids in `exclude`, and of the rest the first
  // `first` (0: all). Ids are below `listed`. The subset may be empty.
  Subset(uint64_t listed, const std::optional<Ids>& include, Ids exclude, uint64_t first);

  uint64_t size() const { return size_; }
  bool is_whole() const { return size_ == listed_; }
  uint64_t operator[](uint64_t number) const;  // number < size(): its id. O(log ranges)
  uint64_t below(uint64_t id) const;           // how many of its ids are less than `id`. O(log ranges)

  struct IdRange {
    uint64_t first;   // id
    uint64_t before;  // samples of the subset before this range; its length follows from the next range's `before`
  };
  std::span<const IdRange> ranges() const { return ranges_; }  // in order, never empty ranges

 private:
  void add(uint64_t first, uint64_t end);
  uint64_t length(size_t range) const;

  uint64_t listed_, size_ = 0;
  std::vector<IdRange> ranges_;
};

}  // namespace spdld::sampler
