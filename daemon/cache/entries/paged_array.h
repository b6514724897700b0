// An array that is made page by page, as its elements are first written: an array that nobody writes to costs a pointer
// for each 65,536 elements. Elements stay where they are; they begin value-initialised. Any thread may call find(); the
// other functions need a lock of the owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace spdld::cache {

template <typename T>
class PagedArray {
 public:
  static constexpr uint64_t kPageElements = 1u << 16;

  explicit PagedArray(uint64_t size) : size_(size), pages_(page_count(size)), owned_(page_count(size)) {}

  uint64_t size() const { return size_; }
  // nullptr: out of range, or its page is not made.
  T* find(uint64_t index) const {
    if (index >= size_) return nullptr;
    T* page = pages_[index / kPageElements].load(std::memory_order_acquire);
    return page ? page + index % kPageElements : nullptr;
  }
  // The bytes that this element's page would take; 0: the page is there.
  uint64_t missing_bytes(uint64_t index) const {
    if (owned_[index / kPageElements]) return 0;
    return page_elements(index / kPageElements) * sizeof(T);
  }
  // Makes the element's page where it is missing; nullptr: no memory.
  T* make(uint64_t index) try {
    auto& page = owned_[index / kPageElements];
    if (!page) {
      page = std::make_unique<T[]>(page_elements(index / kPageElements));
      pages_[index / kPageElements].store(page.get(), std::memory_order_release);
    }
    return page.get() + index % kPageElements;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  // Forgets all elements; returns their bytes. Nobody may be reading.
  uint64_t clear() {
    uint64_t bytes = 0;
    for (size_t i = 0; i < owned_.size(); ++i) {
      if (owned_[i]) bytes += page_elements(i) * sizeof(T);
      pages_[i].store(nullptr, std::memory_order_relaxed);
      owned_[i].reset();
    }
    return bytes;
  }

 private:
  static size_t page_count(uint64_t size) { return static_cast<size_t>((size + kPageElements - 1) / kPageElements); }
  uint64_t page_elements(uint64_t page) const { return std::min(kPageElements, size_ - page * kPageElements); }

  const uint64_t size_;
  std::vector<std::atomic<T*>> pages_;
  std::vector<std::unique_ptr<T[]>> owned_;
};

}  // namespace spdld::cache
