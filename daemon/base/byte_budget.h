// A bound on bytes that are in memory for a while, such as the bytes of samples between their fetch and the end of
// their decoding. A holder asks before it allocates, and waits where there is no room. Nothing is refused.
//
// A budget can lie below another one: what is held in a pipeline's budget is also held in its user's and in the node's.
// A holder that wants more than a whole budget gets it when nothing else is held there. Holders that wait are served in
// their order in each budget, and nobody takes room while another holder waits there: small ones do not overtake a
// large one for ever.
//
// A holder that waits in a budget holds its bytes in the budgets below that one, and holders that hold bytes in all
// budgets never wait. So no holder waits for itself. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

namespace spdld {

class ByteBudget {
 public:
  // A sample, for example. One thread at a time uses a holder.
  class Holder {
   public:
    virtual ~Holder() = default;
    // The holder holds the bytes that it waited for. On any thread, maybe before wait() has returned; must not block.
    virtual void on_room() = 0;
    // False: nobody wants any more what it waits for, and nobody will again. Any thread.
    virtual bool is_wanted() const { return true; }
    uint64_t held_bytes() const { return held_bytes_; }

   private:
    friend class ByteBudget;
    uint64_t held_bytes_ = 0;
    uint64_t wanted_bytes_ = 0;   // while it waits
    ByteBudget* from_ = nullptr;  // where it began to wait: budgets from there on hold these bytes already
  };

  // `above`: what is held here is held there as well.
  explicit ByteBudget(uint64_t bytes_max, std::shared_ptr<ByteBudget> above = nullptr);
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Has the holder hold `bytes` in all (never fewer than it holds already). False: there is no room now, or others wait
  // for room; the holder holds what it held.
  bool hold(Holder& holder, uint64_t bytes);
  // Gives back what the holder holds, and calls its on_room() once it holds `bytes`. That may be before this returns:
  // the holder is not the caller's any more.
  void wait(Holder& holder, uint64_t bytes);
  void give_back(Holder& holder);
  // Holders that wait here or in a budget above, and that nobody wants any more, wait no longer: their on_room() is
  // called, and they hold nothing.
  void drop_unwanted();

  void set_bytes_max(uint64_t bytes_max);
  uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes_peak() const { return bytes_peak_.load(std::memory_order_relaxed); }  // the most at any time
  // How often a holder had to wait here.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  size_t waiting() const { return waiting_count_.load(std::memory_order_relaxed); }  // holders, here and now

 private:
  bool take(uint64_t bytes);
  void let_go(uint64_t bytes);
  void enter(Holder& holder);  // to hold its wanted bytes here, then above
  enum class Entry : uint8_t { kTaken, kQueued, kUnwanted };
  Entry take_or_queue(Holder& holder);
  Holder* next_unwanted();
  void let_off(Holder& holder);  // which holds its wanted bytes below this budget
  void pass_on(Holder& holder);  // which holds its wanted bytes here
  void serve();
  Holder* next();

  const std::shared_ptr<ByteBudget> above_;
  std::atomic<uint64_t> bytes_max_;
  std::atomic<uint64_t> bytes_{0}, bytes_peak_{0};
  std::atomic<uint64_t> waits_{0};
  std::atomic<size_t> waiting_count_{0};
  std::mutex mutex_;
  std::deque<Holder*> waiting_;  // under the mutex
};

}  // namespace spdld
