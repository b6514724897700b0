// A named state that changes only along the transitions that its owner lists, at one place. A change that is not listed
// is a bug, after which slots could be filled while a trainer reads them: so it throws, and the daemon ends, or the
// trainer's call fails. Value; the owner's thread.
#pragma once

#include <stdexcept>
#include <string>

namespace spdld {

// `kMay`: whether the state may go from one value to another.
template <typename State, bool (*kMay)(State from, State to)>
class GuardedState {
 public:
  explicit constexpr GuardedState(State first) : now_(first) {}

  constexpr operator State() const { return now_; }
  // Throws std::logic_error where kMay does not allow it; the state is then unchanged.
  void change(State to) {
    if (!kMay(now_, to))
      throw std::logic_error("a state must not go from " + std::to_string(static_cast<int>(now_)) + " to " +
                             std::to_string(static_cast<int>(to)));
    now_ = to;
  }

 private:
  State now_;
};

}  // namespace spdld
