#include "client/src/resident.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "client/src/calls/per_process.h"

namespace spdld::client {

namespace {

constexpr int64_t kFreed_ms = 2'000;
constexpr int64_t kFreedRetry_ms = 20;

}  // namespace

struct Resident::List {
  std::mutex mutex;  // locked before any turn_; its holder only tries to take a turn_
  std::vector<Resident*> residents;
  std::atomic<uint64_t> uses{0};
};

Resident::Use::Use(Resident& resident) : resident_(resident), turn_(resident.turn_) {
  resident.used_ = ++of_this_process<List>().uses;
}

Resident::~Resident() {
  if (!is_listed_) return;
  List& list = of_this_process<List>();
  const std::lock_guard lock(list.mutex);
  std::erase(list.residents, this);
}

CallOutcome Resident::attach(Deadline deadline, spdld_progress progress, void* progress_user) {
  rest_others(kAtOnceMax - 1);
  CallOutcome outcome = loader_.attach(deadline, progress, progress_user);
  if (outcome.result == SPDLD_LIMIT && rest_others(0)) {
    // The daemon hears of it on other connections, and stops what fills those slots first.
    const Deadline freed = deadline.or_earlier(Deadline::after_ms(kFreed_ms));
    while (outcome.result == SPDLD_LIMIT && !freed.passed()) {
      if (wait_for(-1, 0, Deadline::after_ms(kFreedRetry_ms)) == Wake::kSignal)
        return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
      outcome = loader_.attach(deadline, progress, progress_user);
    }
  }
  if (!outcome.ok()) return outcome;
  List& list = of_this_process<List>();
  used_ = ++list.uses;
  const std::lock_guard lock(list.mutex);
  list.residents.push_back(this);
  is_listed_ = true;
  return outcome;
}

bool Resident::has_namesake() const {
  List& list = of_this_process<List>();
  const AttachRequest& mine = loader_.request();
  const std::lock_guard lock(list.mutex);
  return std::any_of(list.residents.begin(), list.residents.end(), [&](const Resident* other) {
    const AttachRequest& theirs = other->loader_.request();  // the fields asked for are never changed
    return other != this && theirs.group == mine.group && theirs.rank == mine.rank && theirs.reader == mine.reader;
  });
}

int Resident::poll_fd() {
  const std::lock_guard turn(turn_);
  is_polled_ = true;
  return loader_.poll_fd();
}

// The list's mutex is held all the while, so that none of the others can go. This loader is not in the list yet.
bool Resident::rest_others(size_t kept) const {
  List& list = of_this_process<List>();
  const std::lock_guard lock(list.mutex);
  struct Idle {
    uint64_t used;
    Resident* resident;
  };
  std::vector<Idle> idle;
  size_t busy = 0;
  for (Resident* other : list.residents) {
    if (!other->loader_.can_rest()) continue;
    const std::unique_lock turn(other->turn_, std::try_to_lock);
    if (!turn) {
      ++busy;
    } else if (other->loader_.may_rest() && !other->is_polled_) {
      idle.push_back({other->used_, other});
    }
  }
  std::sort(idle.begin(), idle.end(), [](const Idle& a, const Idle& b) { return a.used < b.used; });
  size_t with_memory = busy + idle.size();
  bool any = false;
  for (const Idle& longest : idle) {
    if (with_memory <= kept) break;
    if (!longest.resident->rest_if_idle()) continue;
    --with_memory;
    any = true;
  }
  return any;
}

bool Resident::rest_if_idle() {
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn || is_polled_ || !loader_.may_rest()) return false;
  loader_.rest();
  return true;
}

}  // namespace spdld::client
