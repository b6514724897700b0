// What the tests of GPU memory share. All of it is used in a child with a fake driver (tests/cuda/child.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/memory/cuda/gpus.h"
#include "tests/cuda/child.h"

namespace spdld::test {

inline constexpr uint64_t kMiB = 1u << 20;

// Something that happens on another thread, a number of times. Waits are bounded, then throw.
class Signal {
 public:
  void raise();
  void wait(uint64_t times);
  uint64_t count() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t count_ = 0;
};

memory::GpuUuid uuid_of(size_t device);
// Of the first GPU, that needs no more of the trainer's side.
memory::DeviceRing ring_of(size_t slots, uint64_t slot_bytes, memory::Transport transport = memory::Transport::kAuto);

// Waits for the ring. Throws where `done` is not called in time.
Result<memory::SlotMemories> try_ring(memory::Gpus& gpus, const memory::DeviceRing& ring);
// Throws its error as well.
memory::SlotMemories make_ring(memory::Gpus& gpus, const memory::DeviceRing& ring);
// Its error; an empty text where there is none.
Error error_of_ring(memory::Gpus& gpus, const memory::DeviceRing& ring);

// Waits until there is staging memory; the error where the ring is lost.
Status begin(memory::SlotMemory& slot);
// Publishes all of it.
inline void publish(memory::SlotMemory& slot, memory::SlotMemory::Published published) {
  const memory::Range all{0, slot.bytes()};
  slot.publish({&all, 1}, std::move(published));
}
// Fills all of it with a pattern of `seed`, publishes, and waits until it is published.
Status fill(memory::SlotMemory& slot, uint8_t seed);
void write_pattern(memory::SlotMemory& slot, uint8_t seed);
uint8_t pattern(uint8_t seed, uint64_t at);

// Waits, a bounded time, until `is_so`; asks again and again, since the GPUs are closed on a thread of theirs.
bool becomes_true(const std::function<bool()>& is_so);
// Nothing of a process is left on the driver.
bool is_clean(const FakeCudaLive& live);

// Has another process open the slot, and compare what lies there. Seed 0: zeros.
class Reader {
 public:
  explicit Reader(const Link& link) : link_(link) {}
  bool sees(const memory::SlotMemory& slot, uint8_t seed) const;
  void dismiss() const;

  // The other process: answers until it is dismissed.
  static void serve(const Link& link);

 private:
  const Link& link_;
};

}  // namespace spdld::test
