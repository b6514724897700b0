// Processes of another user. They need root.
#pragma once

#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"

namespace spdld::test {

inline bool is_root() {
  if (geteuid() == 0) return true;
  WARN("not tried: only root can be somebody else");
  return false;
}

inline bool become(uid_t uid, const std::vector<gid_t>& groups = {}) {
  return setgroups(groups.size(), groups.data()) == 0 && setgid(uid) == 0 && setuid(uid) == 0;
}

// Runs as another user with these supplementary groups in a process of its own, and gives the text that comes of it.
inline std::string as_user(uid_t uid, const std::function<std::string()>& what, const std::vector<gid_t>& groups = {}) {
  Pipe told;
  const pid_t child = in_child([&] {
    if (!become(uid, groups)) return 50;
    told.write(what());
    return 0;
  });
  told.close_writer();
  const std::string text = told.read_all();
  const int code = wait_for(child);
  return code == 0 ? text : "exit code " + std::to_string(code) + " " + text;
}

// Another user's process, which does something and tells it in a line. The line has come when the constructor returns.
// Then it goes on to live until this object ends it.
class OtherUser {
 public:
  OtherUser(uid_t uid, const std::function<std::string(Pipe& told)>& what) {
    pid_ = in_child([&] {
      if (!become(uid)) return 50;
      told_.write(what(told_) + "\n");
      for (;;) pause();
      return 0;
    });
    told_.close_writer();
    said_ = told_.read_line();
  }
  ~OtherUser() { end(); }
  OtherUser(OtherUser&& other) noexcept
      : told_(std::move(other.told_)), said_(std::move(other.said_)), pid_(std::exchange(other.pid_, -1)) {}

  const std::string& said() const { return said_; }
  std::string read_line() { return told_.read_line(); }
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    wait_for(std::exchange(pid_, -1));
  }

 private:
  Pipe told_;
  std::string said_;
  pid_t pid_ = -1;
};

// A daemon that users besides its own may talk to.
inline std::unique_ptr<DaemonProcess> shared_daemon(const std::string& settings) {
  auto daemon = std::make_unique<DaemonProcess>("[socket]\nmode = \"0666\"\n" + settings);
  chmod(daemon->dir().c_str(), 0755);
  return daemon;
}

}  // namespace spdld::test
