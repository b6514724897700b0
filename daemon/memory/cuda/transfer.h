// The copies to one GPU: one stream, a thread that issues copies in order, and a thread that waits for their events in
// that order. So the next copy is with the driver before the last one has completed, and the GPU's copy engine never
// waits for a thread. Staging memory goes back once its copy has completed, and not before.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/statistics.h"
#include "daemon/memory/cuda/staging.h"
#include "daemon/memory/slot_memory.h"

namespace spdld::memory {

struct Copy {
  // In memory of the GPU.
  struct DeviceRange {
    cuda::abi::DevicePtr from = 0, to = 0;
    uint64_t bytes = 0;
  };
  struct HostRange {
    const uint8_t* from = nullptr;  // in staging memory, or in memory that the caller keeps until `published`
    cuda::abi::DevicePtr to = 0;
    uint64_t bytes = 0;
  };
  std::vector<HostRange> host_ranges;
  std::vector<DeviceRange> device_ranges;   // from other slots on the GPU
  cuda::Event* copied = nullptr;            // is recorded behind the copy
  bool ready_early = false;                 // `published` need not wait for it
  std::shared_ptr<const void> keep;         // holds the memory and the event
  std::shared_ptr<const void> keep_source;  // holds the memory of `device_ranges`
  StagingBufferPtr staging;
  SlotMemory::Published published;  // called once, in the order of put(), without a lock held
};

class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  // Called where the context is lost, or where the state of the stream can't be known. It must call fail().
  using Failed = std::function<void(cuda::abi::Result code, const std::string& what)>;

  // Throws cuda::Fault. end() must be called.
  static std::shared_ptr<Transfer> start(cuda::ContextRef context, std::shared_ptr<Staging> staging, Failed failed);

  // Any thread; never blocks. The queue never has more copies than there are staging buffers, slots, and tasks that
  // copy from slot to slot.
  void put(Copy copy);
  // Any thread. All copies, and all later copies, are answered with `reason`, and the threads end.
  void fail(const Error& reason);

  // Set-up thread. Waits for copies that were issued; other copies, and later copies, are answered with `reason`.
  // False: the driver has not come back in time; then all copies are answered, and memory that the GPU may still use is
  // kept until the process ends.
  bool end(const Error& reason, uint32_t drain_ms);
  // Takes memory that must be kept, where end() gave up.
  bool keep_if_given_up(std::shared_ptr<const void> memory);

  const Counter& copies() const { return copies_; }
  const Counter& copied_bytes() const { return copied_bytes_; }
  const Counter& busy_ns() const { return busy_ns_; }

 private:
  struct Key {};

 public:
  Transfer(Key, cuda::ContextRef context, std::shared_ptr<Staging> staging, Failed failed);

 private:
  struct Issued {
    Copy copy;
    uint64_t since_ns = 0;
    cuda::abi::Result code = cuda::abi::kSuccess;  // result of the issue
    bool is_issued = false;                        // from then on the finishing thread alone uses it
  };
  enum class Next : uint8_t { kFinish, kAnswer, kEnd };

  void run_issuing();
  bool is_to_issue() const;  // under mutex_, as the following
  bool is_at_an_end() const;
  cuda::abi::Result issue(const Copy& copy) const;
  void run_finishing();
  Next wait_for_work();
  void finish_oldest();
  void answer_next();
  cuda::abi::Result wait_for_all() const;
  void answer(Copy& copy, const Status& status);  // for a copy that no other thread sees any more

  const cuda::ContextRef context_;
  const std::shared_ptr<Staging> staging_;
  const Failed failed_;
  cuda::Stream stream_;
  uint64_t idle_since_ns_ = 0;  // used by the finishing thread

  std::mutex mutex_;
  std::condition_variable wake_, ended_wake_;
  std::deque<Copy> queue_;        // guarded by mutex_, as are the following
  std::deque<Issued> in_flight_;  // grows on the issuing thread alone, and shrinks on the finishing thread alone
  std::optional<Error> failure_, ending_;
  bool ended_ = false, given_up_ = false;
  std::vector<std::shared_ptr<const void>> kept_;

  Counter copies_, copied_bytes_, busy_ns_;
  std::thread issuing_, finishing_;  // used by the set-up thread
};

}  // namespace spdld::memory
