#include "daemon/sampler/subset.h"

#include <algorithm>

namespace spdld::sampler {
namespace {

void sort_once(Subset::Ids& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Subset::Subset(uint64_t listed) : listed_(listed) { add(0, listed); }

Subset::Subset(uint64_t listed, const std::optional<Ids>& include, Ids exclude, uint64_t first) : listed_(listed) {
  sort_once(exclude);
  const uint64_t most = first == 0 ? listed : first;
  if (include) {
    Ids ids = *include;
    sort_once(ids);
    for (const uint64_t id : ids) {
      if (size_ == most) break;
      if (!std::binary_search(exclude.begin(), exclude.end(), id)) add(id, id + 1);
    }
    return;
  }
  uint64_t next = 0;
  exclude.push_back(listed);
  for (const uint64_t id : exclude) {
    add(next, std::min(id, next + (most - size_)));
    next = id + 1;
  }
}

void Subset::add(uint64_t first, uint64_t end) {
  if (first >= end) return;
  if (ranges_.empty() || ranges_.back().first + (size_ - ranges_.back().before) != first)
    ranges_.push_back({first, size_});
  size_ += end - first;
}

uint64_t Subset::length(size_t range) const {
  return (range + 1 < ranges_.size() ? ranges_[range + 1].before : size_) - ranges_[range].before;
}

uint64_t Subset::operator[](uint64_t number) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), number,
                                      [](uint64_t wanted, const IdRange& range) { return wanted < range.before; });
  const IdRange& range = *(after - 1);
  return range.first + (number - range.before);
}

uint64_t Subset::below(uint64_t id) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), id,
                                      [](uint64_t wanted, const IdRange& range) { return wanted < range.first; });
  if (after == ranges_.begin()) return 0;
  const auto range = static_cast<size_t>(after - ranges_.begin()) - 1;
  return ranges_[range].before + std::min(id - ranges_[range].first, length(range));
}

}  // namespace spdld::sampler
