// Memory for Arrow, up to a bound: what a damaged page says of its size can't take the node's memory.
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace spdld::source::parquet {

// Takes its memory from Arrow's own pool. Any thread.
class BoundedPool final : public ::arrow::MemoryPool {
 public:
  explicit BoundedPool(int64_t bytes_max) : bytes_max_(bytes_max) {}

  ::arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (!has_room(size)) return refusal(size);
    ARROW_RETURN_NOT_OK(pool_.Allocate(size, alignment, out));
    count(size);
    return ::arrow::Status::OK();
  }
  ::arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** memory) override {
    if (!has_room(new_size - old_size)) return refusal(new_size);
    ARROW_RETURN_NOT_OK(pool_.Reallocate(old_size, new_size, alignment, memory));
    count(new_size - old_size);
    return ::arrow::Status::OK();
  }
  void Free(uint8_t* memory, int64_t size, int64_t alignment) override {
    pool_.Free(memory, size, alignment);
    held_ -= size;
  }
  int64_t bytes_allocated() const override { return held_; }
  int64_t max_memory() const override { return bytes_max_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return pool_.backend_name(); }

 private:
  bool has_room(int64_t more) const { return more <= bytes_max_ - held_; }
  ::arrow::Status refusal(int64_t size) const {
    return ::arrow::Status::CapacityError("a page of ", size, " bytes is more than the limit of ", bytes_max_);
  }
  void count(int64_t more) {
    held_ += more;
    total_ += more > 0 ? more : 0;
    ++count_;
  }

  const int64_t bytes_max_;
  ::arrow::MemoryPool& pool_ = *::arrow::default_memory_pool();
  std::atomic<int64_t> held_{0}, total_{0}, count_{0};
};

}  // namespace spdld::source::parquet
