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
  if (runs_.empty() || runs_.back().first + (size_ - runs_.back().before) != first) runs_.push_back({first, size_});
  size_ += end - first;
}

uint64_t Subset::length(size_t run) const {
  return (run + 1 < runs_.size() ? runs_[run + 1].before : size_) - runs_[run].before;
}

uint64_t Subset::operator[](uint64_t number) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), number,
                                      [](uint64_t wanted, const Run& run) { return wanted < run.before; });
  const Run& run = *(after - 1);
  return run.first + (number - run.before);
}

uint64_t Subset::below(uint64_t id) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), id,
                                      [](uint64_t wanted, const Run& run) { return wanted < run.first; });
  if (after == runs_.begin()) return 0;
  const auto run = static_cast<size_t>(after - runs_.begin()) - 1;
  return runs_[run].before + std::min(id - runs_[run].first, length(run));
}

}  // namespace spdld::sampler
