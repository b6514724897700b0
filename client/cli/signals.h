// The signals by which a user ends a command that goes on until then. One thread.
#pragma once

#include <signal.h>

#include <array>

namespace spdld::cli {

// While an object lives, SIGINT and SIGTERM ask for the end, and SIGWINCH (the terminal has another size) ends a wait.
// The signals are held back, but for waits and looks, so that they interrupt no writing. One object at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  bool end_asked() const;

  // Waits for so long, or until a signal comes.
  void wait(double seconds) const;

  // While an object lives, the end may be asked for: a query that waits for its answer is interrupted.
  class Open {
   public:
    Open();
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };

 private:
  static constexpr std::array<int, 3> kNumbers = {SIGINT, SIGTERM, SIGWINCH};
  std::array<struct sigaction, 3> actions_before_{};
  sigset_t mask_before_{};
};

}  // namespace spdld::cli
