#include "daemon/user/waiting.h"

namespace spdld::user {

void Waiting::add(uint32_t errand, Job job) {
  job.number = ++added_;
  queues_[errand].push_back(job);
  size_++;
}

void Waiting::add_first(uint32_t errand, const Job& job) {
  queues_[errand].push_front(job);
  size_++;
}

std::optional<uint32_t> Waiting::oldest(const std::vector<bool>& passed_over) const {
  std::optional<uint32_t> found;
  if (size_ == 0) return found;
  for (uint32_t errand = 0; errand < queues_.size(); errand++) {
    if (passed_over[errand] || queues_[errand].empty()) continue;
    if (!found || first(errand).number < first(*found).number) found = errand;
  }
  return found;
}

void Waiting::drop_first(uint32_t errand) {
  queues_[errand].pop_front();
  size_--;
}

}  // namespace spdld::user
