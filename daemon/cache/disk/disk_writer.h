// The thread that writes entries to the disk, and the queue before it, bounded in bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "daemon/cache/entries/entry.h"
#include "daemon/store/object.h"

namespace spdld::cache {

class DiskShelf;

struct DiskWrite {
  DiskShelf* shelf = nullptr;
  uint64_t sample = 0;
  store::Identity identity;
  uint32_t generation = 0;
  Form form = Form::kEncoded;
  std::unique_ptr<uint8_t[]> bytes = {};
  uint64_t count = 0;
};

class DiskWriter {
 public:
  static constexpr uint64_t kQueueBytes = 64u << 20;
  // How long the destructor waits for queued entries.
  static constexpr std::chrono::seconds kEnd{2};

  // `write` is called on the writer's thread, for every entry that was put, also after is_late().
  explicit DiskWriter(std::function<void(DiskWrite&)> write);
  ~DiskWriter();
  DiskWriter(const DiskWriter&) = delete;
  DiskWriter& operator=(const DiskWriter&) = delete;

  // Any thread. Copies `bytes`; false: the queue is full, or no memory.
  bool put(DiskWrite write, const uint8_t* bytes);
  uint64_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }
  // The time for the remaining entries is over: nothing more should be written. On the writer's thread.
  bool is_late() const;
  void stop();  // and waits; put() is false from then on

 private:
  void run();

  const std::function<void(DiskWrite&)> write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<DiskWrite> queue_;
  std::atomic<uint64_t> queued_bytes_{0};  // with entries being copied, and the entry being written
  std::atomic<bool> stopping_{false};
  std::chrono::steady_clock::time_point end_{};  // set before stopping_
  std::thread thread_;
};

}  // namespace spdld::cache
