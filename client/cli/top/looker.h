// Looks at the daemon again and again on a thread of its own, so that a daemon that does not answer leaves the keys and
// the screen alive. Only the newest answer is kept.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "config/text/json.h"
#include "proto/unique_fd.h"

namespace spdld::cli::top {

class Looker {
 public:
  // Waits for the daemon's answer on the looker's thread; throws Failure. A signal that comes in between must end the
  // wait.
  using Ask = std::function<config::Json()>;
  struct Answer {
    std::optional<config::Json> document;
    std::string why;  // there is no document
  };

  // The first look is made an interval from now. Throws std::system_error. For the looker's life, SIGUSR1 ends waits.
  Looker(Ask ask, double interval_s);
  ~Looker();  // ends a wait for an answer
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  int fd() const { return event_.get(); }  // readable when there is an answer to take
  std::optional<Answer> take();            // the owner's thread

 private:
  void run();
  Answer look() const;

  const Ask ask_;
  const double interval_s_;
  UniqueFd event_;
  struct sigaction action_before_ {};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Answer> newest_;
  bool is_to_end_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace spdld::cli::top
