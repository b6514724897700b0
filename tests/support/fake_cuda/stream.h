// A stream: a queue and a thread, which begins with the first work. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/support/fake_cuda/memory.h"

namespace spdld::test::fake {

class Stream;

// A device's primary context in this process, from the first retain to the last release or a reset.
struct Context {
  enum class State : int { kAlive, kReleased, kReset };
  int ordinal = 0, device = 0;  // `ordinal` as the process counts, `device` as the ledger counts
  uint64_t handle = 0;
  std::atomic<int> sticky{0};  // the result of every call on it
  std::atomic<State> state{State::kAlive};
  std::shared_ptr<Stream> legacy;                          // under the process's lock
  std::map<uint64_t, std::shared_ptr<Stream>> of_threads;  // each thread's default stream; likewise
  struct {
    std::mutex mutex;
    std::weak_ptr<Stream> legacy;
    std::vector<std::weak_ptr<Stream>> blocking;
  } order;  // of streams that wait for each other's work

  // Whether a capture makes the legacy default stream unusable.
  bool has_blocking_capture();
  bool is_alive() const { return state.load() == State::kAlive; }
  bool is_usable() const { return is_alive() && sticky.load() == 0; }
};

// The memory that a piece of work writes; none: `physical` is null.
struct Touched {
  const Physical* physical = nullptr;
  uint64_t offset = 0, bytes = 0;
  bool overlaps(const Touched& other) const {
    return physical && other.physical && physical->id == other.physical->id && offset < other.offset + other.bytes &&
           other.offset < offset + bytes;
  }
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  struct Work {
    std::function<void()> run;
    Touched writes;       // of a copy to the device
    bool orders = false;  // later work relies on its coming first
  };

  // Blocking streams, such as each thread's default stream, and the legacy default stream wait for each other's work.
  enum class Ordering { kNonBlocking, kBlocking, kLegacy };
  static std::shared_ptr<Stream> make(const std::shared_ptr<Context>& context, Ordering ordering);
  Stream(std::shared_ptr<Context> context, Ordering ordering) : context_(std::move(context)), ordering_(ordering) {}
  Ordering ordering() const { return ordering_; }
  const std::shared_ptr<Context>& context() const { return context_; }

  // Waits while the queue is full. Returns the work's number.
  uint64_t put(Work work);
  // As put(): the streams that this stream waits for are waited for, too.
  void put_order();
  // Whether no work under way may still rely on the content of `place`.
  bool is_free(const Touched& place);
  void wait_for(uint64_t number);
  void wait_idle();
  // No more work comes; queued work is done first.
  void close();
  // Waits for the time of a copy; ends early when the context ends.
  void pause(uint32_t us);
  void wake();

  std::atomic<bool> capturing{false};

 private:
  static void serve(const std::shared_ptr<Stream>& stream);
  uint64_t put_alone(Work work);
  void wait_for_others();      // under the context's order
  uint64_t last_unfinished();  // 0: none

  static constexpr size_t kQueueMax = 1024;
  const std::shared_ptr<Context> context_;
  const Ordering ordering_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;  // the first is under way
  uint64_t put_ = 0, done_ = 0;
  bool started_ = false, closed_ = false;
};

// Whether this thread is in a function that cuLaunchHostFunc() put into a stream.
bool& in_host_function();

}  // namespace spdld::test::fake
