#include "client/src/seeking.h"

namespace spdld::client {

void Seeking::begin(Position from, bool stays) {
  if (state_ == State::kNone) from_ = from;
  state_.change(State::kDue);
  stays_ = stays;
  again_ = false;
}

void Seeking::tell(bool waits) {
  const bool is_new = state_ == State::kDue;
  state_.change(waits ? State::kWaits : State::kSent);
  if (is_new) ++run_;
}

void Seeking::refuse() {
  if (state_ == State::kWaits) state_.change(State::kSent);
}

void Seeking::arrive(Position at) {
  sought_ = is_open() ? std::optional(at) : std::nullopt;
  if (state_ != State::kNone) state_.change(State::kNone);
}

void Seeking::start_anew() {
  again_ = again_ || is_told();
  stays_ = false;
  run_ = 0;
  if (state_ == State::kNone) return;
  state_.change(has_replicas_ ? State::kDue : State::kNone);
}

}  // namespace spdld::client
