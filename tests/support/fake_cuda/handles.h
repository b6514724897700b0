// Handles as the driver gives them out: numbers that look like pointers and never come again. So a handle that is used
// after its object's end differs from a handle that never existed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace spdld::test::fake {

// Not thread-safe: under the process's lock.
template <typename Object>
class Handles {
 public:
  // `kind`: a number that no other table has.
  explicit Handles(uint64_t kind) : first_(kind << 40 | 64), next_(first_) {}

  uint64_t add(std::shared_ptr<Object> object) {
    const uint64_t handle = next_;
    next_ += 64;
    living_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<Object> find(uint64_t handle) const {
    const auto found = living_.find(handle);
    return found == living_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> take(uint64_t handle) {
    auto object = find(handle);
    living_.erase(handle);
    return object;
  }
  bool was_given(uint64_t handle) const { return handle >= first_ && handle < next_ && handle % 64 == 0; }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [handle, object] : living_) visit(*object);
  }

  template <typename Which>
  std::vector<std::shared_ptr<Object>> take_if(Which which) {
    std::vector<std::shared_ptr<Object>> taken;
    for (auto at = living_.begin(); at != living_.end();) {
      if (which(*at->second)) {
        taken.push_back(std::move(at->second));
        at = living_.erase(at);
      } else {
        ++at;
      }
    }
    return taken;
  }

 private:
  const uint64_t first_;
  uint64_t next_;
  std::map<uint64_t, std::shared_ptr<Object>> living_;
};

}  // namespace spdld::test::fake
