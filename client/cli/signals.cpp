#include "client/cli/signals.h"

#include <poll.h>

#include <cmath>
#include <csignal>

namespace spdld::cli {
namespace {

volatile std::sig_atomic_t is_to_end = 0;

void set_ends(int how) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(how, &ends, nullptr);
}

}  // namespace

Signals::Signals() {
  is_to_end = 0;
  for (size_t i = 0; i < kNumbers.size(); i++) {
    struct sigaction action = {};
    action.sa_handler = kNumbers[i] == SIGWINCH ? [](int) {} : [](int) { is_to_end = 1; };
    sigaction(kNumbers[i], &action, &actions_before_[i]);
  }
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : kNumbers) sigaddset(&ours, number);
  sigprocmask(SIG_BLOCK, &ours, &mask_before_);
}

Signals::~Signals() {
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  for (size_t i = 0; i < kNumbers.size(); i++) sigaction(kNumbers[i], &actions_before_[i], nullptr);
}

bool Signals::end_asked() const { return is_to_end != 0; }

void Signals::wait(double seconds) const {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  ppoll(nullptr, 0, &time, &mask_before_);
}

Signals::Open::Open() { set_ends(SIG_UNBLOCK); }
Signals::Open::~Open() { set_ends(SIG_BLOCK); }

}  // namespace spdld::cli
