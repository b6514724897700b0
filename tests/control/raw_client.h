// A client that says whatever a test wants, byte by byte; and a server with a service that a test scripts.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/system/event_loop.h"
#include "daemon/control/server.h"
#include "daemon/control/service.h"
#include "proto/message.h"
#include "tests/support/temp_dir.h"

namespace spdld::test {

// One message received, kept whole.
struct Heard {
  proto::Received raw;
  const proto::Message& message() const { return *proto::parse(raw.bytes); }
};

class RawClient {
 public:
  explicit RawClient(const std::string& socket_path);

  int fd() const { return socket_.get(); }
  void send(std::span<const uint8_t> bytes, std::vector<int> fds = {});
  // Waits up to ten seconds; none: the other side has closed.
  std::optional<Heard> hear();

  // pidfd_of 0: of this process; expects WELCOME
  void hello(int pidfd_of = 0);
  void send_hello(uint16_t version_min, uint16_t version_max, std::vector<int> fds);
  void send_attach(uint32_t request, const std::string& pipeline, const std::string& group = "g", uint32_t rank = 0);
  void send_spec(uint32_t request, const std::string& toml, const std::string& folder = "/");
  void send_release(uint32_t attachment, uint32_t slot, uint64_t generation);
  void send_seek(uint32_t attachment, uint32_t run, uint64_t epoch, uint64_t step);
  void send_detach(uint32_t attachment);
  void send_query(uint32_t request, proto::Topic topic, const std::string& argument = {});
  // Expects an ErrorReply and gives its code and text.
  std::pair<proto::ErrorCode, std::string> hear_error();

 private:
  UniqueFd socket_;
};

// What a session asks of the node, and how a test answers. All on the control thread.
class ScriptedService final : public control::Service {
 public:
  std::function<void(const control::Client&, control::AttachRequest, std::shared_ptr<control::AttachReply>)> on_attach;
  std::function<Result<std::string>(std::string_view, std::string_view)> on_query;

  void attach(const control::Client& client, control::AttachRequest request,
              std::shared_ptr<control::AttachReply> reply) override {
    on_attach(client, std::move(request), std::move(reply));
  }
  Result<std::string> query(const control::Client&, std::string_view topic, std::string_view argument) override {
    return on_query(topic, argument);
  }
  std::string_view daemon_id() const override { return "test-daemon"; }
  std::function<Result<std::unique_ptr<control::CrewSeat>>(const control::Client&, std::string_view,
                                                           std::shared_ptr<control::CrewReply>)>
      on_join_crew;
  Result<std::unique_ptr<control::CrewSeat>> join_crew(const control::Client& client, std::string_view token,
                                                       std::shared_ptr<control::CrewReply> reply) override {
    return on_join_crew(client, token, std::move(reply));
  }
};

// A server on a thread of its own. Declared behind what its service uses: sessions use that until the server has ended.
class Served {
 public:
  explicit Served(uint32_t sessions_max = 64);
  ~Served();

  std::string path() const { return (dir_.path() / "s").string(); }
  // Runs on the control thread and waits for it.
  void on_control(const std::function<void()>& what);
  size_t sessions();
  void wait_for_sessions(size_t count);

  ScriptedService service;
  std::atomic<int> emptied{0};
  EventLoop loop;
  std::unique_ptr<control::Server> server;  // ends before the loop that it waits with

 private:
  TempDir dir_;
  std::thread thread_;
};

}  // namespace spdld::test
