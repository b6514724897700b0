// A real spdld on a socket of its own, ended by its process id. The executable is $SPDLD_DAEMON, or the build's.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "proto/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace spdld::test {

class DaemonProcess {
 public:
  // `settings` is the text of its settings file; socket.path is added.
  explicit DaemonProcess(std::string settings = "", std::vector<std::string> arguments = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  std::string socket() const { return (dir_.path() / "spdld.sock").string(); }
  const std::filesystem::path& dir() const { return dir_.path(); }
  pid_t pid() const { return pid_; }
  std::string log() const;

  void start();          // returns once it answers
  int stop(int signal);  // sends the signal, waits for the end; returns waitpid's status
  int wait();            // for an end that comes by itself; returns waitpid's status
  void rewrite_settings(const std::string& settings);

  // The kernel's numbers for the process.
  size_t open_fds() const;  // without the pictures being read, which come and go
  size_t threads() const;
  size_t memfd_mappings() const;
  // Without mapped files: another daemon that runs meanwhile would have a part in the pages of the program.
  uint64_t anonymous_and_shared_bytes() const;

 private:
  TempDir dir_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
};

}  // namespace spdld::test
