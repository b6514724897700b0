// Gets a connection, and over it a ring. Both can be continued after a time-out: a call of next with a short time-out
// must not begin from the start each time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/src/gpu_request.h"
#include "client/src/private_daemon.h"
#include "client/src/ring.h"

namespace spdld::client {

// Finds or starts the daemon, says HELLO, waits for WELCOME. One thread.
class Greeting {
 public:
  Greeting(Endpoint endpoint, std::string client_name, bool may_start)
      : endpoint_(std::move(endpoint)), client_name_(std::move(client_name)), may_start_(may_start) {}

  // OK: connection() is open. SPDLD_TIMEOUT, SPDLD_INTERRUPTED: call again. All other results end this attempt.
  Outcome advance(Deadline deadline);
  const std::shared_ptr<Connection>& connection() const { return connection_; }
  const std::string& daemon() const { return daemon_; }
  // The daemon was there, and went away before it answered: another attempt may succeed.
  bool was_lost() const { return lost_; }
  // No daemon listens, but a daemon may come: the socket's folder is there, and no private daemon was to be started.
  bool is_absent() const { return absent_; }

 private:
  Outcome connect(Deadline deadline);
  Outcome say_hello();
  Outcome read_welcome();

  const Endpoint endpoint_;
  const std::string client_name_;
  const bool may_start_;
  std::optional<PrivateDaemonStart> start_;
  std::shared_ptr<Connection> connection_;
  std::string daemon_;
  bool welcomed_ = false;
  bool lost_ = false;
  bool absent_ = false;
};

// The content of ATTACH; kept for every later attach.
struct AttachRequest {
  std::string client_name;
  bool may_start = true;
  std::string pipeline;
  std::string spec;
  bool spec_is_json = false;
  std::string spec_folder;
  std::string group;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t reader = 0;
  uint32_t readers = 1;
  Place place;
  std::optional<Place> sought;  // of a replica: where its last seek led, if it has had one batch since
  proto::Join join = proto::Join::now;
  std::string fingerprint;
  uint32_t held_max = 0;
  uint64_t batch_size = 0;
  GpuRequest gpus;
};

struct Progress {
  std::string what = "connecting to the daemon";  // what the user waits for
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t messages = 0;  // received so far; each shows that the daemon lives
};

// One attempt to attach. One thread.
class Attaching {
 public:
  Attaching(const Endpoint& endpoint, const AttachRequest& request)
      : greeting_(endpoint, request.client_name, request.may_start), request_(request) {}

  // Goes on as Greeting::advance does; OK: ring() is attached.
  Outcome advance(Deadline deadline);
  const std::shared_ptr<Ring>& ring() const { return ring_; }
  const std::string& daemon() const { return greeting_.daemon(); }
  const Progress& progress() const { return progress_; }
  bool was_lost() const { return lost_ || greeting_.was_lost(); }
  // The daemon does not take this user's spec; another daemon may.
  bool spec_was_refused() const { return spec_refused_; }
  bool is_absent() const { return greeting_.is_absent(); }

 private:
  Outcome ask();
  Outcome read_answer();

  Greeting greeting_;
  const AttachRequest request_;
  bool asked_ = false;
  bool lost_ = false;
  bool spec_refused_ = false;
  Progress progress_;
  std::shared_ptr<Ring> ring_;
};

}  // namespace spdld::client
