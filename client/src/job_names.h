// The groups of loaders that name no group. Each such loader is a job of its own, so that a process may attach as often
// as it likes.
#pragma once

#include <cstdint>
#include <string>

namespace spdld::client {

// The ranks of a launched job make the same loaders in the same order. The n-th loader that a rank makes of one
// pipeline therefore belongs to the n-th loader of every other rank, and their groups have the same name.
struct JobName {
  std::string launched;  // the launcher's name for the whole run; empty: the group is not from a launcher
  uint64_t loader = 0;   // a hash of the daemon, the pipeline and the reader

  // The launcher's name, with "#n" behind it from the second loader on. It stays the same until note_used().
  std::string next() const;
  // A loader has that name now, or no loader can have it.
  void note_used() const;
};

// `process`, with "#n" behind it from the second call on.
std::string next_own_job(const std::string& process);

}  // namespace spdld::client
