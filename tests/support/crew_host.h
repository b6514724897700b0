// A daemon's side of a crew, for tests: what it answers to JOIN_CREW, the workers that it starts, and what the crew has
// said. Its messages go through a FakeDaemon.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "proto/message.h"
#include "tests/support/crew_ring.h"

namespace spdld::test {

struct CrewSaid {
  std::string what;  // "refused", "joined", "progress", "ready", "failed", "ended"
  std::string text;
  uint32_t number = 0, total = 0;
};

// The daemon's thread calls serve(); one other thread calls the rest.
class CrewHost {
 public:
  CrewHost(std::string token, std::string errands, uint64_t scratch_bytes, uint64_t memory_max)
      : token_(std::move(token)), errands_(std::move(errands)), memory_max_(memory_max), scratch_(scratch_bytes) {}

  // As FakeScript::on_other wants it.
  bool serve(int socket, const proto::Message& message) {
    if (const auto* join = message.body_as_JoinCrew()) return answer_join(socket, *join);
    if (const auto* progress = message.body_as_CrewProgress())
      note({"progress", std::string(proto::text_of(progress->what())), progress->done(), progress->total()});
    if (message.body_as_CrewReady()) note({"ready", {}});
    if (const auto* failed = message.body_as_CrewFailed())
      note({"failed", std::string(proto::text_of(failed->message()))});
    if (const auto* ended = message.body_as_WorkerEnded())
      note({"ended", std::string(proto::text_of(ended->message())), ended->worker()});
    return true;
  }

  std::optional<CrewSaid> take_said(int wait_ms) {
    std::unique_lock lock(mutex_);
    if (!said_more_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return !said_.empty(); })) return {};
    CrewSaid first = std::move(said_.front());
    said_.pop_front();
    return first;
  }
  CrewRing& start_worker(uint32_t worker) {
    rings_[worker] = std::make_unique<CrewRing>();
    CrewRing& ring = *rings_[worker];
    const UniqueFd memory = ring.ring_fd(), bell = ring.bell_fd();
    const int fds[] = {memory.get(), bell.get()};
    flatbuffers::FlatBufferBuilder builder;
    const auto body = proto::CreateStartWorker(builder, worker);
    proto::send_message(socket_, proto::finish(builder, proto::Body::StartWorker, body), fds);
    return ring;
  }
  void end_worker(uint32_t worker) {
    flatbuffers::FlatBufferBuilder builder;
    proto::send_message(socket_,
                        proto::finish(builder, proto::Body::EndWorker, proto::CreateEndWorker(builder, worker)));
  }
  // The session with the crew, and nothing else, as where the daemon cuts it loose.
  void hang_up() { ::shutdown(socket_, SHUT_RDWR); }
  CrewRing& ring(uint32_t worker) { return *rings_.at(worker); }
  const SharedMemory& scratch() const { return scratch_; }

 private:
  bool answer_join(int socket, const proto::JoinCrew& join) {
    if (errands_.empty() || proto::text_of(join.token()) != token_) {
      flatbuffers::FlatBufferBuilder builder;
      const auto code = errands_.empty() ? proto::ErrorCode::not_found : proto::ErrorCode::denied;
      const auto body = proto::CreateErrorReplyDirect(builder, 0, code, "no crew of this token is wanted");
      proto::send_message(socket, proto::finish(builder, proto::Body::ErrorReply, body));
      note({"refused", {}});
      return false;
    }
    socket_ = socket;
    flatbuffers::FlatBufferBuilder builder;
    const auto body = proto::CreateCrewJoinedDirect(builder, errands_.c_str(), scratch_.bytes(), memory_max_);
    const int fds[] = {scratch_.fd()};
    proto::send_message(socket, proto::finish(builder, proto::Body::CrewJoined, body), fds);
    note({"joined", {}});
    return true;
  }
  void note(CrewSaid said) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::move(said));
    said_more_.notify_all();
  }

  const std::string token_, errands_;
  const uint64_t memory_max_;
  const SharedMemory scratch_;
  int socket_ = -1;  // the FakeDaemon's, as long as the session is
  std::map<uint32_t, std::unique_ptr<CrewRing>> rings_;

  std::mutex mutex_;
  std::condition_variable said_more_;
  std::deque<CrewSaid> said_;
};

}  // namespace spdld::test
