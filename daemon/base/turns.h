// Requests that wait to be worked on. The owners take turns, so that nobody's requests stand behind all requests of
// somebody else. Guarded by its user; bounded by its callers. `Item` has a member `owner`, a number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace spdld {

template <typename Item>
class Turns {
 public:
  bool empty() const { return turns_.empty(); }
  void push(Item& item) {
    auto& waiting = of_owner_[item.owner];
    if (waiting.empty()) turns_.push_back(item.owner);
    waiting.push_back(&item);
  }
  // Precondition: not empty.
  Item* pop() {
    const uint64_t owner = turns_.front();
    turns_.pop_front();
    const auto at = of_owner_.find(owner);
    Item* item = at->second.front();
    at->second.pop_front();
    settle(at);
    return item;
  }
  // False: it does not wait here.
  bool remove(Item& item) {
    const auto at = of_owner_.find(item.owner);
    if (at == of_owner_.end()) return false;
    const auto place = std::find(at->second.begin(), at->second.end(), &item);
    if (place == at->second.end()) return false;
    at->second.erase(place);
    turns_.erase(std::find(turns_.begin(), turns_.end(), item.owner));
    settle(at);
    return true;
  }

 private:
  static constexpr size_t kKeptMax = 64;  // owners without a waiting request whose memory is kept
  using Waiting = std::unordered_map<uint64_t, std::deque<Item*>>;

  // After an item has left, and its owner's turn with it.
  void settle(typename Waiting::iterator at) {
    if (!at->second.empty())
      turns_.push_back(at->first);
    else if (of_owner_.size() > kKeptMax)
      of_owner_.erase(at);
  }

  Waiting of_owner_;
  std::deque<uint64_t> turns_;  // owners with a waiting request, each once
};

}  // namespace spdld
