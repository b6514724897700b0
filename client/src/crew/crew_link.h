// A crew's connection to the daemon: it joins, and then hears which workers the daemon wants, and tells how they fare
// (PROTOCOL.md, "Crews"). One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/src/calls/connection.h"
#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"
#include "proto/unique_fd.h"

namespace spdld::client {

enum class CrewEventKind : uint8_t {
  kNone,         // there is none now
  kJoined,       // `text`: the errands; fds: the scratch memory
  kNotWanted,    // the token counts no more: this one is to end
  kStartWorker,  // fds: its ring, its end of the bell
  kEndWorker,
  kEnd  // the daemon is gone, or wants nothing more; `text` says why
};

struct CrewEvent {
  CrewEventKind kind = CrewEventKind::kNone;
  std::string text = {};
  uint64_t scratch_bytes = 0, memory_max = 0;  // of kJoined
  uint32_t worker = 0;
  std::vector<UniqueFd> fds = {};
};

class CrewLink {
 public:
  // Connects to the daemon's socket, and says HELLO and JOIN_CREW. The answer is an event.
  CallOutcome join(const std::string& socket, const std::string& token, Deadline deadline);

  int poll_fd() const { return connection_->poll_fd(); }
  // Never waits.
  CrewEvent take();

  // These never wait; what finds no room in the socket goes out with a later call, or with flush().
  void tell_progress(const std::string& what, uint32_t done, uint32_t total);
  void tell_ready();
  void tell_failed(const std::string& sentence);
  void tell_worker_ended(uint32_t worker, const std::string& how);
  // False: there is more to send than the socket takes now; wait for POLLOUT.
  bool flush() { return connection_->flush() || connection_->has_ended(); }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace spdld::client
