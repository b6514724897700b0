#include "daemon/cache/cache.h"

#include <map>
#include <mutex>
#include <utility>

#include "daemon/cache/shelf_state.h"

namespace spdld::cache {
namespace {

// Shelves that hold nothing any more are remembered for their counts, up to so many of all.
constexpr size_t kShelvesMax = 256;

}  // namespace

std::string_view form_name(const ShelfKey& key) {
  if (key.form() == Form::kEncoded) return "encoded";
  const auto word = std::string_view(key.representation).substr(0, key.representation.find(' '));
  return word == "planes" ? "decoded" : word;
}

class Cache::Inside final : public ShelfOwner {
 public:
  explicit Inside(const Settings& settings)
      : memory_(settings.ram_bytes_max), disk_(settings.folder, settings.disk_bytes_max) {}

  bool is_on() const { return memory_.limit().max() != 0 || disk_.is_on(); }
  MemoryTier& memory() { return memory_; }
  void stop() { disk_.stop(); }

  ShelfState& open(const ShelfKey& key, uint64_t samples) {
    const std::lock_guard opening(opening_);
    ShelfState& shelf = find_or_make(key, samples);
    if (shelf.holders.load() == 0) {
      shelf.memory.begin_use();
      shelf.generation.fetch_add(1);
      shelf.disk = disk_.open(key, shelf.samples);
    }
    shelf.holders.fetch_add(1);
    return shelf;
  }

  void close(ShelfState& shelf) override {
    const std::lock_guard opening(opening_);
    if (shelf.holders.fetch_sub(1) != 1) return;
    if (shelf.disk) disk_.close(*std::exchange(shelf.disk, nullptr));
    shelf.memory.end_use();
  }

  Report report() const {
    Report report;
    report.ram_bytes = memory_.limit().used();
    report.ram_bytes_max = memory_.limit().max();
    report.evicted = memory_.evicted();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, shelf] : shelves_) report.shelves.push_back(memory_report(*shelf));
    }
    disk_.fill(report);
    return report;
  }
  std::string disk_trouble() const { return disk_.trouble(); }
  uint64_t available_disk_bytes() const { return disk_.available_bytes(); }

 private:
  ShelfState& find_or_make(const ShelfKey& key, uint64_t samples) {
    const std::lock_guard lock(mutex_);
    auto& shelf = shelves_[key];
    if (!shelf || (shelf->samples != samples && is_forgettable(*shelf))) {
      shelf = std::make_unique<ShelfState>(*this, memory_, disk_, key, samples);
      if (shelves_.size() > kShelvesMax) {
        std::erase_if(shelves_, [&](const auto& kept) {
          return kept.second != shelf && kept.second->memory.entries() == 0 && is_forgettable(*kept.second);
        });
      }
    }
    return *shelf;
  }
  static bool is_forgettable(ShelfState& shelf) { return shelf.holders.load() == 0 && !shelf.memory.is_used(); }

  MemoryTier memory_;
  DiskTier disk_;
  std::mutex opening_;        // holders, and what is done for the first and the last
  mutable std::mutex mutex_;  // the map; held briefly
  std::map<ShelfKey, std::unique_ptr<ShelfState>> shelves_;
};

Cache::Cache(const Settings& settings) : inside_(std::make_shared<Inside>(settings)) {}
Cache::~Cache() { inside_->stop(); }

bool Cache::is_on() const { return inside_->is_on(); }

std::shared_ptr<Shelf> Cache::open(const ShelfKey& key, uint64_t samples) {
  // Shelves keep the inside alive, so that one held for too long does no harm.
  return std::make_shared<Shelf>(std::shared_ptr<ShelfState>(inside_, &inside_->open(key, samples)));
}

uint64_t Cache::available_bytes() const { return inside_->memory().available_bytes(); }
uint64_t Cache::available_disk_bytes() const { return inside_->available_disk_bytes(); }
Report Cache::report() const { return inside_->report(); }
std::string Cache::disk_trouble() const { return inside_->disk_trouble(); }

}  // namespace spdld::cache
