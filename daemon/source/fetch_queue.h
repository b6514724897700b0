// Requests that wait for a fetch thread. The owners (FetchRequest::owner) take turns, so that nobody's requests stand
// behind all requests of somebody else. Guarded by its user; bounded by the callers of fetch().
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "daemon/source/fetcher.h"

namespace spdld::source {

class FetchQueue {
 public:
  bool empty() const { return turns_.empty(); }
  void push(FetchRequest& request) {
    auto& waiting = of_owner_[request.owner];
    if (waiting.empty()) turns_.push_back(request.owner);
    waiting.push_back(&request);
  }
  // Precondition: not empty.
  FetchRequest* pop() {
    const uint64_t owner = turns_.front();
    turns_.pop_front();
    const auto at = of_owner_.find(owner);
    FetchRequest* request = at->second.front();
    at->second.pop_front();
    if (!at->second.empty())
      turns_.push_back(owner);
    else if (of_owner_.size() > kKeptMax)
      of_owner_.erase(at);
    return request;
  }

 private:
  static constexpr size_t kKeptMax = 64;  // owners without a waiting request whose memory is kept
  std::unordered_map<uint64_t, std::deque<FetchRequest*>> of_owner_;
  std::deque<uint64_t> turns_;  // owners with a waiting request, each once
};

}  // namespace spdld::source
