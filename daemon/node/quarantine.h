// Device memory whose reader has gone without closing it, while its process still lives: the GPU may still work on it,
// so that it is neither filled nor freed until the process has ended (its pidfd says so). Control thread only.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/node/feed.h"

namespace spdld::node {

class Quarantine {
 public:
  // A ring whose other readers wait longer than this for a slot in quarantine is given up.
  static constexpr uint64_t kStuckNsMax = 5ull * 1'000'000'000;

  explicit Quarantine(EventLoop& loop) : loop_(loop) {}

  // Holds the leases of reader `id`, and `feed` with its memory. `ended` is called once the process has ended.
  void hold(const control::Client& client, std::shared_ptr<Feed> feed, delivery::ReaderId id,
            std::function<void()> ended);
  bool holds(const Feed& feed, delivery::ReaderId id) const;
  // Called some times a second: gives up rings that are stuck.
  void tick();
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
    uint64_t since_ns = 0;
    std::function<void()> ended;
  };
  void wait_for(std::list<Entry>::iterator at);

  EventLoop& loop_;
  std::list<Entry> entries_;
};

}  // namespace spdld::node
