#include "daemon/memory/host/host_memory.h"

#include <fstream>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/memory/host/host_slot.h"

namespace spdld::memory {

std::string huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  for (std::string word; file >> word;)  // "always within_size advise [never] deny force"
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  return {};
}

HostMemory::HostMemory(uint64_t spare_bytes_max) : spare_bytes_max_(spare_bytes_max) {
  thread_ = std::jthread([this] {
    name_thread("slot-free", 0);
    free_on_thread();
  });
}

HostMemory::~HostMemory() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  wake_.notify_one();
}

SlotMemories HostMemory::make_slots(const Use& use, size_t count) {
  SlotMemories memories;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = spare_.size(); i-- > 0 && memories.size() < count;) {
      if (spare_[i].use != use) continue;
      memories.push_back(std::move(spare_[i].memory));
      spare_.erase(spare_.begin() + static_cast<ptrdiff_t>(i));
      spare_bytes_ -= use.slot_bytes;
    }
  }
  while (memories.size() < count)
    memories.push_back(std::make_unique<HostSlot>(use.slot_bytes, use.access, use.kind, use.has_writers));
  return memories;
}

void HostMemory::give_back(const Use& use, SlotMemories memories, bool closed) {
  const std::lock_guard lock(mutex_);
  for (auto& memory : memories) {
    if (closed && !memory->is_lent() && use.slot_bytes <= spare_bytes_max_) {
      spare_.push_back({use, std::move(memory), monotonic_ns()});
      spare_bytes_ += use.slot_bytes;
    } else {
      going_.push_back(std::move(memory));
    }
  }
  while (spare_bytes_ > spare_bytes_max_ || spare_.size() > kSpareSlotsMax) drop_oldest();
  wake_.notify_one();
}

void HostMemory::keep_at_most(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  while (spare_bytes_ > bytes) drop_oldest();
}

void HostMemory::tick(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  while (!spare_.empty() && now_ns >= spare_.front().since_ns + kSpareNsMax) drop_oldest();
}

uint64_t HostMemory::spare_bytes() const {
  const std::lock_guard lock(mutex_);
  return spare_bytes_;
}

void HostMemory::drop_oldest() {
  spare_bytes_ -= spare_.front().use.slot_bytes;
  going_.push_back(std::move(spare_.front().memory));
  spare_.pop_front();
  wake_.notify_one();
}

void HostMemory::free_on_thread() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !going_.empty(); });
    if (going_.empty()) return;
    SlotMemories memories = std::exchange(going_, {});
    lock.unlock();
    memories.clear();
    lock.lock();
  }
}

}  // namespace spdld::memory
