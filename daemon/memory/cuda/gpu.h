// One GPU that is open: its context, staging, transfer thread and the memory made on it. After a failure (the context
// is lost) the object stays for the slots that still point to it, and calls the driver no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/memory/cuda/gpus.h"
#include "daemon/memory/cuda/inbox.h"
#include "daemon/memory/cuda/transfer.h"

namespace spdld::memory {

class Gpu;

// The properties that all slots of one ring have in common.
struct DeviceRingPart {
  DeviceRingPart(std::shared_ptr<Gpu> on, MemoryKind as, uint64_t bytes, bool early, const StagingKind& staging_kind);

  std::shared_ptr<Gpu> gpu;
  MemoryKind kind;
  uint64_t slot_bytes;
  bool ready_early;
  Staging::User staging;
};

// The device memory of one slot, and the event behind its copies. Made and destroyed on the set-up thread, or after
// that thread has ended. The last allocation has the last hold on a GPU.
class DeviceAllocation {
 public:
  // Zeroed, so that it shows nothing of its last owner's data. Throws cuda::Fault.
  explicit DeviceAllocation(std::shared_ptr<DeviceRingPart> ring);
  ~DeviceAllocation();
  DeviceAllocation(const DeviceAllocation&) = delete;
  DeviceAllocation& operator=(const DeviceAllocation&) = delete;

  DeviceRingPart& ring() const { return *ring_; }
  cuda::abi::DevicePtr address() const { return memory_->address(); }
  cuda::Event& copied() { return *copied_; }
  // The data that is sent to the trainer; this object owns a descriptor in it.
  const Shared& shared() const { return shared_; }

 private:
  const std::shared_ptr<DeviceRingPart> ring_;
  std::unique_ptr<cuda::DeviceMemory> memory_;
  std::unique_ptr<cuda::Event> copied_;
  UniqueFd fd_;
  Shared shared_;
};

class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // Set-up thread. `node`: the NUMA node for staging memory; -1: any. Throws cuda::Fault. close() must be called.
  static std::shared_ptr<Gpu> open(const cuda::Device& device, uint64_t staging_bytes_max, std::shared_ptr<Inbox> inbox,
                                   int node = -1);

  // Any thread.
  const std::string& text() const { return text_; }  // "GPU 0 (name, GPU-...)"
  const std::string& uuid() const { return uuid_; }  // "GPU-...", or "MIG-..." for a slice
  const std::shared_ptr<Staging>& staging() const { return staging_; }
  void put(Copy copy) { transfer_->put(std::move(copy)); }
  // Why the context is lost; none: it is sound.
  std::optional<Error> trouble() const;
  // To be called after an error that loses the context, in `what` ("a copy").
  void fail(cuda::abi::Result code, const std::string& what);
  uint64_t slot_bytes() const { return slot_bytes_; }
  uint64_t slots() const { return slots_; }
  void report(GpuReport& report) const;
  const std::shared_ptr<Inbox>& inbox() const { return inbox_; }

  // Set-up thread.
  const cuda::ContextRef& context() const { return context_; }
  std::optional<Inbox::Clock::time_point> tick();
  void measure();  // how much memory is free; never throws
  // Answers queued copies with `reason`, or with the GPU's trouble. Ends the transfer thread, drops idle staging
  // memory, and destroys a lost context. Slots may still be there. Where the driver hangs, everything is kept until the
  // process ends.
  void close(const Error& reason);

 private:
  friend class DeviceAllocation;
  struct Key {};

 public:
  Gpu(Key, const cuda::Device& device, std::shared_ptr<Inbox> inbox);

 private:
  void start(uint64_t staging_bytes_max, int node);
  void zero(cuda::abi::DevicePtr address, uint64_t bytes);
  void check(cuda::abi::Result code, const std::string& what) const;

  const std::string text_, uuid_;
  const std::shared_ptr<Inbox> inbox_;
  const uint64_t used_before_;  // of the GPU's memory, by all
  const cuda::ContextRef context_;
  const uint64_t context_bytes_;
  std::unique_ptr<StagingBuffer> zeros_;
  std::unique_ptr<cuda::Stream> set_up_stream_;
  std::shared_ptr<Staging> staging_;
  std::shared_ptr<Transfer> transfer_;
  std::atomic<uint64_t> slots_{0}, slot_bytes_{0}, free_bytes_{0};

  mutable std::mutex mutex_;
  std::optional<Error> trouble_;  // guarded by mutex_
};

}  // namespace spdld::memory
