// Device memory whose reader has gone without closing it, while its process still lives. The GPU may still work on that
// memory, so it is neither filled nor freed until the process has ended (its pidfd says so). Control thread only; the
// time is given to stuck().
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/system/event_loop.h"
#include "daemon/node/seats/feed.h"

namespace spdld::node {

class Quarantine {
 public:
  // A feed whose other readers wait longer than this for a slot in quarantine is stuck.
  static constexpr uint64_t kStuckNsMax = 5ull * 1'000'000'000;

  explicit Quarantine(EventLoop& loop) : loop_(loop) {}

  // Holds the leases of reader `id`, and `feed` with its memory. `ended` is called once the process has ended.
  void hold(const control::Client& client, std::shared_ptr<Feed> feed, delivery::ReaderId id,
            std::function<void()> ended);
  bool holds(const Feed& feed, delivery::ReaderId id) const;
  // Called some times a second, and counts from its first call with an entry. The feeds that are stuck: their owner
  // gives them up.
  std::vector<std::shared_ptr<Feed>> stuck(uint64_t now_ns);
  // The bytes in quarantine of rings on the GPU of this UUID.
  uint64_t bytes_on(const std::string& uuid) const;
  size_t size() const { return entries_.size(); }
  void add_feeds(std::set<const Feed*>& feeds) const;

 private:
  struct Entry {
    Entry(EventLoop& loop, UniqueFd pidfd) : process(loop, std::move(pidfd)) {}
    Watch process;
    std::shared_ptr<Feed> feed;
    delivery::ReaderId id = 0;
    std::optional<uint64_t> since_ns = {};
    std::function<void()> ended;
  };
  void wait_for(std::list<Entry>::iterator at);

  EventLoop& loop_;
  std::list<Entry> entries_;
};

}  // namespace spdld::node
