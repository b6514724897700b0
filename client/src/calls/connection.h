// One session with a daemon: any thread sends, one thread receives.
#pragma once

#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/src/calls/deadline.h"
#include "client/src/calls/outcome.h"
#include "proto/message.h"

namespace spdld::client {

struct ReleaseNote {
  uint32_t attachment;
  uint32_t slot;
  uint64_t generation;
  uint64_t taken;      // READYs that the loader has taken so far
  uint64_t waited_us;  // how long it has waited for them in all
};

// Batches share the connection with their loader, since it carries their releases. It closes with its last holder, or
// by close().
class Connection {
 public:
  Connection(UniqueFd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}

  // Any thread; never blocks. False: it could not be sent, now or ever.
  bool send(std::span<const uint8_t> bytes, std::span<const int> fds = {});
  // Any thread; never blocks. A release that finds no room in the socket is kept (a ring's slots bound their number)
  // and goes out with the next call. It is dropped when the daemon is gone, since the lease is gone as well.
  void release(const ReleaseNote& note);
  // Sends another message as release() sends its own. The caller bounds their number, and sends them again where the
  // daemon was lost.
  void post(std::span<const uint8_t> bytes);
  bool flush();
  // Any thread: whether the daemon, or this session, has ended. Messages may still be there to be received.
  bool has_ended();

  // The loader's thread. OK: message() and fds() are the next message, until the next receive. SPDLD_TIMEOUT,
  // SPDLD_INTERRUPTED; SPDLD_NO_DAEMON: the connection is closed; SPDLD_INTERNAL: the bytes that came are no message.
  CallOutcome receive(Deadline deadline);
  const proto::Message& message() const { return *message_; }
  std::vector<UniqueFd>& fds() { return received_.fds; }
  // How long receive has waited so far, in all.
  uint64_t waited_us() const { return waited_us_; }

  // The loader's thread: ends the session at once, with all its leases.
  void close();
  int poll_fd() const { return socket_.get(); }
  const std::string& path() const { return path_; }

 private:
  bool flush_locked();

  std::mutex mutex_;  // of the sending side, and of the socket's closing
  std::deque<std::vector<uint8_t>> unsent_;
  bool closed_ = false;
  UniqueFd socket_;  // changed by the loader's thread alone, under mutex_
  const std::string path_;

  proto::Received received_;
  const proto::Message* message_ = nullptr;
  uint64_t waited_us_ = 0;
};

// "the daemon at PATH broke the protocol: ..."
CallOutcome protocol_failure(const Connection& connection, const std::string& what);
// The failure that a GOODBYE is for the caller: SPDLD_NO_DAEMON, "the daemon at PATH shuts down: ...".
CallOutcome shuts_down(const Connection& connection, const proto::Goodbye& goodbye);

// A message of the daemon's as it can be shown, with its ends of lines.
std::string said(const flatbuffers::String* message);

}  // namespace spdld::client
