// How the replicas of a rank come to another place together.
#include <algorithm>
#include <iterator>
#include <string>

#include "daemon/node/feed.h"

namespace spdld::node {
namespace {

constexpr size_t kSeeksMax = 64;  // of a replica that is ahead of the others; of more the first are passed over

}  // namespace

Status Feed::seek(delivery::ReaderId id, const control::SeekRequest& seek) {
  if (setting_.sharing)
    return Error{Trouble::kUsage, "a stream that jobs share can't seek: detach, and attach at the other place"};
  const auto at = seats_.find(id);
  if (at == seats_.end()) return Error{Trouble::kUsage, "a seat that was given back can't seek"};
  Seat& seat = at->second;
  if (seek.waits && seek.run == seat.run && seek.run != 0) {  // said before
    seat.waits = true;
    go_where_all_want();
    fill_free_slots();
    return Done{};
  }
  if (seek.run <= seat.run) return Error{Trouble::kUsage, "SEEK's run must be larger than any before"};
  if (!sharding_.has(seek.to))
    return Error{Trouble::kUsage, "SEEK to step " + std::to_string(seek.to.step) + " of an epoch of " +
                                      std::to_string(sharding_.steps()) + " steps"};
  const sampler::Position to = sharding_.by_one_name(seek.to);
  seat.run = seek.run;
  seat.waits = seek.waits;
  if (seat.sought.size() == kSeeksMax) seat.sought.pop_front();
  seat.sought.push_back(seek);
  seat.sought.back().to = to;
  ring_.pause(id, seek.run, seek.keeps ? *seek.keeps : ring_.leases_of(id),
              seek.stays ? std::optional(to) : std::nullopt);
  go_where_all_want();
  fill_free_slots();
  return Done{};
}

// Only once the ring has begun: before that, it waits for missing replicas.
void Feed::go_where_all_want() {
  const auto of_all = [this](auto holds) {
    return std::all_of(seats_.begin(), seats_.end(), [&](const auto& seat) { return holds(seat.second); });
  };
  for (size_t i = 0; i < kSeeksMax && begun_ && !seats_.empty(); i++) {  // as many as can be met
    if (!of_all([](const Seat& seat) { return !seat.sought.empty() || seat.had_sought; })) return;
    const bool all_wait = of_all([](const Seat& seat) { return seat.waits; });
    if (all_wait)
      for (auto& [id, seat] : seats_) seat.sought.erase(seat.sought.begin(), std::prev(seat.sought.end()));
    const auto to = meeting_place();
    if (!to && all_wait) tell_of_other_places();
    if (!to) return;
    go_to(*to);
  }
}

bool Feed::Seat::has_sought(sampler::Position to) const {
  return std::any_of(sought.begin(), sought.end(), [&](const control::SeekRequest& seek) { return seek.to == to; });
}

// The first place not yet followed that all replicas have sought.
std::optional<sampler::Position> Feed::meeting_place() const {
  for (const auto& [id, seat] : seats_) {
    for (const control::SeekRequest& wish : seat.sought) {
      if (std::all_of(seats_.begin(), seats_.end(), [&](const auto& other) {
            return other.second.has_sought(wish.to) || other.second.has_followed(wish);
          }))
        return wish.to;
    }
  }
  return std::nullopt;
}

void Feed::go_to(sampler::Position to) {
  for (auto& [id, seat] : seats_)
    if (seat.sought.empty()) ring_.pause(id, seat.run, ring_.leases_of(id), std::nullopt);
  if (!ring_.all_stay()) {
    start_ = to;
    ring_.move(ring_.run() + 1);
    stream_->seek(ring_.run(), to);
  }
  for (auto& [id, seat] : seats_) {
    if (seat.has_sought(to)) {
      while (seat.sought.front().to != to) seat.sought.pop_front();
      seat.sought.pop_front();
    }
    seat.had_sought.reset();
    if (seat.sought.empty()) ring_.resume(id);
  }
}

// All of them: each waits for the others, and nobody knows which of them is wrong.
void Feed::tell_of_other_places() {
  const auto place_of = [](const auto& seat) { return seat.second.sought.back().to; };
  const auto text_of = [&](const auto& seat) {
    return "replica " + std::to_string(seat.second.reader) + " goes to epoch " + std::to_string(place_of(seat).epoch) +
           ", step " + std::to_string(place_of(seat).step);
  };
  const auto& one = *seats_.begin();
  const auto& other =
      *std::find_if(seats_.begin(), seats_.end(), [&](const auto& seat) { return place_of(seat) != place_of(one); });
  const bool in_order = one.second.reader < other.second.reader;
  const Error error{Trouble::kUsage,
                    "the replicas of rank " + std::to_string(setting_.key.rank) + " have parted: " +
                        text_of(in_order ? one : other) + ", and " + text_of(in_order ? other : one) +
                        "; they see the same batches, so all of them must seek the same place, or load the same state"};
  for (auto& [id, seat] : seats_) {
    seat.waits = false;  // until it asks again, perhaps for the same
    seat.reply->seek_refused(seat.sought.back().request, error);
  }
}

}  // namespace spdld::node
