#include "daemon/node/seats/quarantine.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/base/system/log.h"
#include "proto/seqpacket.h"

namespace spdld::node {

void Quarantine::hold(const control::Client& client, std::shared_ptr<Feed> feed, delivery::ReaderId id,
                      std::function<void()> ended) {
  log::info(log::About{feed->pipeline().spec().name},
            "pipeline {}: pid {} of user {} left its batches on the GPU open; they are kept until it has ended",
            feed->pipeline().spec().name, client.pid, client.uid);
  entries_.emplace_back(loop_, UniqueFd(fcntl(client.process->get(), F_DUPFD_CLOEXEC, 0)));
  const auto at = std::prev(entries_.end());
  at->feed = std::move(feed);
  at->id = id;
  at->ended = std::move(ended);
  wait_for(at);
}

void Quarantine::wait_for(std::list<Entry>::iterator at) {
  at->process.when_readable([this, at] {
    if (!proto::process_has_ended(at->process.fd())) return wait_for(at);
    const std::shared_ptr<Feed> held = std::move(at->feed);
    const std::function<void()> ended = std::move(at->ended);
    entries_.erase(at);
    ended();
  });
}

bool Quarantine::holds(const Feed& feed, delivery::ReaderId id) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.feed.get() == &feed && entry.id == id; });
}

std::vector<std::shared_ptr<Feed>> Quarantine::stuck(uint64_t now_ns) {
  std::vector<std::shared_ptr<Feed>> feeds;
  for (Entry& entry : entries_) {
    if (!entry.since_ns) entry.since_ns = now_ns;
    const bool waits = entry.feed->is_open() && entry.feed->ring().leases(entry.id);
    if (waits && now_ns - *entry.since_ns >= kStuckNsMax) feeds.push_back(entry.feed);
  }
  return feeds;
}

void Quarantine::add_feeds(std::set<const Feed*>& feeds) const {
  for (const Entry& entry : entries_) feeds.insert(entry.feed.get());
}

uint64_t Quarantine::bytes_on(const std::string& uuid) const {
  std::set<const Feed*> counted;
  uint64_t bytes = 0;
  for (const Entry& entry : entries_)
    if (entry.feed->gpu() == uuid && counted.insert(entry.feed.get()).second) bytes += entry.feed->device_bytes();
  return bytes;
}

}  // namespace spdld::node
