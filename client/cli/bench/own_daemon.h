// A daemon for one command alone, with settings of the command's own. It and its folder end with this object. One
// thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "proto/unique_fd.h"

namespace spdld::cli {

// A folder that nobody else may look into, which goes with this object.
class OwnFolder {
 public:
  OwnFolder();  // throws Failure
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class OwnDaemon {
 public:
  // Starts it in `folder` (borrowed), with a file of these settings, and waits until it listens (throws Failure, also
  // where a signal interrupts the wait).
  // `name`: of its files there.
  OwnDaemon(const OwnFolder& folder, const std::string& name, const std::string& settings);
  // Asks it to end, and waits for that.
  ~OwnDaemon();
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;
  const std::string& socket() const { return socket_; }
  // Time in which its threads were ready to run and had no core, since the daemon's start; 0: the kernel does not tell.
  double delayed_s() const;

 private:
  void start(const std::string& program);
  void await_listening() const;
  enum class Wake { kEnded, kTimeout, kSignal };
  Wake await_end(int timeout_ms) const;
  void stop() noexcept;

  const std::string settings_, socket_, log_;
  pid_t pid_ = -1;
  UniqueFd process_;  // a pidfd
};

}  // namespace spdld::cli
