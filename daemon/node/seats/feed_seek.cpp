// How a feed goes to another position when all replicas of its rank have sought it.
#include <algorithm>
#include <string>

#include "daemon/node/seats/feed.h"

namespace spdld::node {

Status Feed::seek(delivery::ReaderId id, const control::SeekRequest& seek) {
  if (setting_.sharing)
    return Error{Trouble::kUsage, "a stream that jobs share can't seek: detach, and attach at the other place"};
  if (!seeks_.has(id)) return Error{Trouble::kUsage, "a seat that was given back can't seek"};
  if (seeks_.is_second(id, seek)) {
    seeks_.wait(id);
  } else if (seek.run <= seeks_.run(id)) {
    return Error{Trouble::kUsage, "SEEK's run must be larger than any before"};
  } else if (!sharding_.has(seek.to)) {
    return Error{Trouble::kUsage, "SEEK to step " + std::to_string(seek.to.step) + " of an epoch of " +
                                      std::to_string(sharding_.steps()) + " steps"};
  } else {
    control::SeekRequest named = seek;
    named.to = sharding_.by_one_name(seek.to);
    seeks_.add(id, named);
    ring_.pause(id, seek.run, seek.keeps ? *seek.keeps : ring_.leases_of(id),
                seek.stays ? std::optional(named.to) : std::nullopt);
  }
  go_where_all_want();
  fill_free_slots();
  return Done{};
}

// A feed that still gathers its replicas waits for the missing replicas first.
void Feed::go_where_all_want() {
  for (size_t i = 0; i < Seeks::kSeeksMax && state_ != State::kGathering; i++) {  // as many as can be met
    const Seeks::Agreement agreement = seeks_.look();
    if (agreement.parted) tell_of_parting();
    if (!agreement.to) return;
    go_to(*agreement.to);
  }
}

void Feed::go_to(sampler::Position to) {
  for (const delivery::ReaderId id : seeks_.followers())
    ring_.pause(id, seeks_.run(id), ring_.leases_of(id), std::nullopt);
  pipeline::SeekableFiller* const stream = filler_.stream();
  if (stream != nullptr && !ring_.all_stay()) {  // a Tap's ring is shared, and no reader of it seeks
    start_ = to;
    ring_.move(ring_.run() + 1);
    stream->seek(ring_.run(), to);
  }
  for (const delivery::ReaderId id : seeks_.meet(to)) ring_.resume(id);
}

// Every replica is told: each waits for the others, and nobody knows which of them is wrong.
void Feed::tell_of_parting() {
  const std::vector<Seeks::Goal> goals = seeks_.part();
  const auto text_of = [&](const Seeks::Goal& goal) {
    return "replica " + std::to_string(seats_.at(goal.id).replica) + " goes to epoch " +
           std::to_string(goal.seek.to.epoch) + ", step " + std::to_string(goal.seek.to.step);
  };
  const Seeks::Goal& one = goals.front();
  const Seeks::Goal& other =
      *std::find_if(goals.begin(), goals.end(), [&](const Seeks::Goal& goal) { return goal.seek.to != one.seek.to; });
  const bool in_order = seats_.at(one.id).replica < seats_.at(other.id).replica;
  const Error error{Trouble::kUsage,
                    "the replicas of rank " + std::to_string(setting_.key.rank) + " have parted: " +
                        text_of(in_order ? one : other) + ", and " + text_of(in_order ? other : one) +
                        "; they see the same batches, so all of them must seek the same place, or load the same state"};
  tell_all([&](delivery::ReaderId id, const Seat& seat) {
    const auto goal = std::find_if(goals.begin(), goals.end(), [id](const Seeks::Goal& of) { return of.id == id; });
    seat.reader->on_seek_refused(goal->seek.request, error);
  });
}

}  // namespace spdld::node
