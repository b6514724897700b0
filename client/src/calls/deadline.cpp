#include "client/src/calls/deadline.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace spdld::client {

bool is_main_thread() { return ::gettid() == ::getpid(); }

bool is_only_thread() {
  struct stat threads = {};
  return ::stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3;  // itself, its parent's name, one thread
}

Wake wait_for(int fd, short events, Deadline deadline) {
  using std::chrono::nanoseconds;
  pollfd entry{fd, events, 0};
  for (;;) {  // each turn waits for what is left: a timer may fire early
    timespec left = {};
    if (!deadline.is_never()) {
      const nanoseconds wait = std::max(nanoseconds(0), nanoseconds(deadline.at() - Deadline::Clock::now()));
      left.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000);
      left.tv_nsec = static_cast<long>(wait.count() % 1'000'000'000);
    }
    const int count = ::ppoll(&entry, fd < 0 ? 0 : 1, deadline.is_never() ? nullptr : &left, nullptr);
    if (count > 0) return Wake::kReady;
    if (count < 0) return errno == EINTR ? Wake::kSignal : Wake::kTimeout;
    if (deadline.passed()) return Wake::kTimeout;
  }
}

}  // namespace spdld::client
