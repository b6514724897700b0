#include "client/cli/top/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace spdld::cli::top {

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH, SIGCONT}) sigaddset(&held, number);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  fd_.reset(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw std::system_error(error, std::generic_category(), "can't hold signals back");
  }
}

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

HeldSignals::Told HeldSignals::read() {
  Told told;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) told.is_to_end = true;
    if (number == SIGTSTP) told.is_to_stop = true;
    if (number == SIGWINCH || number == SIGCONT) told.is_to_renew = true;
  }
  return told;
}

}  // namespace spdld::cli::top
