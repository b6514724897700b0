// The descriptors of a daemon that a client starts: nothing to read, a log to write to, and none of the client's own.
// One thread.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <string>

namespace spdld::client {

// posix_spawn's list of what to do with descriptors, freed with its owner. The first error of the set-up is kept.
class SpawnFiles {
 public:
  SpawnFiles() { note(::posix_spawn_file_actions_init(&actions)); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&actions); }

  void write_to(const std::string& log) {
    note(::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0));
    note(::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    note(::posix_spawn_file_actions_adddup2(&actions, 1, 2));
    note(::posix_spawn_file_actions_addclosefrom_np(&actions, 3));
  }

  int error() const { return error_; }  // 0: none

  posix_spawn_file_actions_t actions;

 protected:
  void note(int error) {
    if (error_ == 0) error_ = error;
  }

 private:
  int error_ = 0;
};

// The same with posix_spawn's attributes, for a program that outlives this process: a session of its own, no blocked
// signal, and the default handling of all.
class SpawnSettings : public SpawnFiles {
 public:
  SpawnSettings() {
    note(::posix_spawnattr_init(&attributes));
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    note(::posix_spawnattr_setsigmask(&attributes, &none));
    note(::posix_spawnattr_setsigdefault(&attributes, &all));
    note(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  ~SpawnSettings() { ::posix_spawnattr_destroy(&attributes); }

  posix_spawnattr_t attributes;
};

}  // namespace spdld::client
