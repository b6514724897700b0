#include "daemon/cache/disk/disk_writer.h"

#include <cstring>
#include <new>
#include <utility>

namespace spdld::cache {

DiskWriter::DiskWriter(std::function<void(DiskWrite&)> write) : write_(std::move(write)), thread_([this] { run(); }) {}

DiskWriter::~DiskWriter() { stop(); }

void DiskWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) end_ = std::chrono::steady_clock::now() + kEnd;
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool DiskWriter::is_late() const { return stopping_ && std::chrono::steady_clock::now() >= end_; }

bool DiskWriter::put(DiskWrite write, const uint8_t* bytes) {
  if (write.count > kQueueBytes || stopping_) return false;
  if (queued_bytes_.fetch_add(write.count) + write.count > kQueueBytes) {
    queued_bytes_.fetch_sub(write.count);
    return false;
  }
  const uint64_t count = write.count;
  try {
    write.bytes = std::make_unique_for_overwrite<uint8_t[]>(count);
    std::memcpy(write.bytes.get(), bytes, count);
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      queue_.push_back(std::move(write));
      changed_.notify_one();
      return true;
    }
  } catch (const std::bad_alloc&) {
  }
  queued_bytes_.fetch_sub(count);
  return false;
}

void DiskWriter::run() {
  while (true) {
    DiskWrite write;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      write = std::move(queue_.front());
      queue_.pop_front();
    }
    write_(write);
    write.bytes.reset();
    queued_bytes_.fetch_sub(write.count);
  }
}

}  // namespace spdld::cache
