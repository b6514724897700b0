// The jobs of a crew that wait for a worker, by errand: a worker that can take no more calls of one errand may still
// take another one's, and jobs of one errand are found together. The crew's lock guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "daemon/user/worker.h"

namespace spdld::user {

class Waiting {
 public:
  explicit Waiting(size_t errands) : queues_(errands) {}

  size_t size() const { return size_; }
  size_t size(uint32_t errand) const { return queues_[errand].size(); }
  void add(uint32_t errand, Job job);
  // Before all others of its errand. It has waited already, and is as old as it was.
  void add_first(uint32_t errand, const Job& job);
  // The errand whose first job is the oldest, of all that are not passed over. None: there is no such job.
  std::optional<uint32_t> oldest(const std::vector<bool>& passed_over) const;
  const Job& first(uint32_t errand) const { return queues_[errand].front(); }
  void drop_first(uint32_t errand);
  // Takes out the jobs for which `is_meant` is true, and gives each of them to `take`.
  template <typename IsMeant, typename Take>
  void take_out(IsMeant is_meant, Take take) {
    for (std::deque<Job>& queue : queues_) {
      size_ -= std::erase_if(queue, [&](const Job& job) {
        if (!is_meant(job)) return false;
        take(job);
        return true;
      });
    }
  }

 private:
  std::vector<std::deque<Job>> queues_;  // by errand
  size_t size_ = 0;
  uint64_t added_ = 0;
};

}  // namespace spdld::user
