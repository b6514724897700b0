// Signals as a file that is read in turn, so that none of them interrupts a drawing. One thread, which makes the object
// before it starts others.
#pragma once

#include <signal.h>

#include "proto/unique_fd.h"

namespace spdld::cli::top {

class HeldSignals {
 public:
  HeldSignals();   // throws std::system_error
  ~HeldSignals();  // signals that were held back and not read are delivered
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  struct Told {
    bool is_to_end = false;    // SIGINT, SIGTERM, SIGHUP
    bool is_to_stop = false;   // SIGTSTP
    bool is_to_renew = false;  // SIGWINCH, SIGCONT
  };
  int fd() const { return fd_.get(); }  // readable when there is something to read
  Told read();                          // all that came since; never blocks

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

}  // namespace spdld::cli::top
