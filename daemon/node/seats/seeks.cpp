#include "daemon/node/seats/seeks.h"

#include <algorithm>
#include <iterator>

namespace spdld::node {

void Seeks::join(delivery::ReaderId id, std::optional<sampler::Position> followed) {
  replicas_[id].followed = followed;
}

bool Seeks::is_second(delivery::ReaderId id, const control::SeekRequest& seek) const {
  return seek.waits && seek.run == run(id) && seek.run != 0;
}

void Seeks::wait(delivery::ReaderId id) {
  Replica& replica = replicas_.at(id);
  if (replica.state == State::kSought) replica.state.change(State::kWaiting);  // else all have met there already
}

void Seeks::add(delivery::ReaderId id, const control::SeekRequest& seek) {
  Replica& replica = replicas_.at(id);
  replica.run = seek.run;
  if (replica.sought.size() == kSeeksMax) replica.sought.pop_front();
  replica.sought.push_back(seek);
  replica.state.change(State::kSought);
  if (seek.waits) replica.state.change(State::kWaiting);
}

bool Seeks::Replica::has_sought(sampler::Position to) const {
  return std::any_of(sought.begin(), sought.end(), [&](const control::SeekRequest& seek) { return seek.to == to; });
}

Seeks::Agreement Seeks::look() {
  bool all_wait = !replicas_.empty();
  for (const auto& [id, replica] : replicas_) {
    if (replica.state == State::kReading && !replica.followed) return {};
    all_wait &= replica.state == State::kWaiting;
  }
  if (all_wait)
    for (auto& [id, replica] : replicas_) replica.sought.erase(replica.sought.begin(), std::prev(replica.sought.end()));
  const auto to = meeting();
  return {to, !to && all_wait};
}

// The first position that all replicas have sought.
std::optional<sampler::Position> Seeks::meeting() const {
  for (const auto& [id, replica] : replicas_) {
    for (const control::SeekRequest& wish : replica.sought) {
      if (std::all_of(replicas_.begin(), replicas_.end(), [&](const auto& other) {
            return other.second.has_sought(wish.to) || other.second.follows(wish);
          }))
        return wish.to;
    }
  }
  return std::nullopt;
}

std::vector<delivery::ReaderId> Seeks::followers() const {
  std::vector<delivery::ReaderId> followers;
  for (const auto& [id, replica] : replicas_)
    if (replica.state == State::kReading) followers.push_back(id);
  return followers;
}

std::vector<delivery::ReaderId> Seeks::meet(sampler::Position to) {
  std::vector<delivery::ReaderId> through;
  for (auto& [id, replica] : replicas_) {
    if (replica.has_sought(to)) {
      while (replica.sought.front().to != to) replica.sought.pop_front();
      replica.sought.pop_front();
    }
    replica.followed.reset();
    if (!replica.sought.empty()) continue;
    if (replica.state != State::kReading) replica.state.change(State::kReading);
    through.push_back(id);
  }
  return through;
}

std::vector<Seeks::Goal> Seeks::part() {
  std::vector<Goal> goals;
  for (auto& [id, replica] : replicas_) {
    replica.state.change(State::kSought);
    goals.push_back({id, replica.sought.back()});
  }
  return goals;
}

}  // namespace spdld::node
