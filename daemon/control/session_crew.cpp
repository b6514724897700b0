// The session of a crew: JOIN_CREW in place of ATTACH, and what a crew tells.
#include <utility>

#include "daemon/control/session.h"
#include "daemon/control/texts.h"
#include "proto/text.h"

namespace spdld::control {

using proto::Body;

// The way back to one crew's session. It may outlive the session; then it drops all that it is given.
class CrewSession final : public CrewReply {
 public:
  explicit CrewSession(std::weak_ptr<Session> session) : session_(std::move(session)) {}

  void joined(const CrewWork& work) override {
    with_session([&](Session& session, flatbuffers::FlatBufferBuilder& builder) {
      const auto errands = builder.CreateString(work.errands);
      const auto body = proto::CreateCrewJoined(builder, errands, work.scratch_bytes, work.memory_max);
      const int fd = work.scratch_fd;
      session.send(proto::finish(builder, Body::CrewJoined, body), {&fd, fd >= 0 ? size_t{1} : size_t{0}});
    });
  }
  void start_worker(uint32_t worker, std::vector<UniqueFd> descriptors) override {
    std::vector<int> fds;
    for (const UniqueFd& fd : descriptors) fds.push_back(fd.get());
    with_session([&](Session& session, flatbuffers::FlatBufferBuilder& builder) {
      session.send(proto::finish(builder, Body::StartWorker, proto::CreateStartWorker(builder, worker)), fds);
    });
  }
  void end_worker(uint32_t worker) override {
    with_session([&](Session& session, flatbuffers::FlatBufferBuilder& builder) {
      session.send(proto::finish(builder, Body::EndWorker, proto::CreateEndWorker(builder, worker)));
    });
  }
  void end(std::string_view why) override {
    if (const auto session = session_.lock()) session->end(why);
  }

 private:
  template <typename Send>
  void with_session(const Send& send) {
    const auto session = session_.lock();
    if (!session || session->state_ == Session::State::kEnded) return;
    session->builder_.Clear();
    send(*session, session->builder_);
  }

  std::weak_ptr<Session> session_;
};

void Session::on_join_crew(const proto::Message& message) {
  const auto& join = *message.body_as_JoinCrew();
  if (const std::string fault = text_fault(join); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault);
  if (crew_ || !attachments_.empty() || !pending_.empty())
    return refuse_message(proto::ErrorCode::unexpected, "JOIN_CREW is for a session of its own");
  auto seat =
      service_.join_crew(client_, proto::text_of(join.token()), std::make_shared<CrewSession>(weak_from_this()));
  if (!seat) return send_error(0, seat.error());
  crew_ = std::move(*seat);
}

bool Session::is_crew_or_refuse(std::string_view message) {
  if (crew_) return true;
  refuse_message(proto::ErrorCode::unexpected, std::string(message) + " is for crews to send, behind JOIN_CREW");
  return false;
}

void Session::on_crew_progress(const proto::Message& message) {
  const auto& told = *message.body_as_CrewProgress();
  if (const std::string fault = text_fault(told); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault);
  if (is_crew_or_refuse("CREW_PROGRESS"))
    crew_->progress(proto::shown(proto::text_of(told.what())), told.done(), told.total());
}

void Session::on_crew_ready(const proto::Message&) {
  if (is_crew_or_refuse("CREW_READY")) crew_->ready();
}

void Session::on_crew_failed(const proto::Message& message) {
  const auto& told = *message.body_as_CrewFailed();
  if (const std::string fault = text_fault(told); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault);
  if (is_crew_or_refuse("CREW_FAILED")) crew_->failed(proto::shown(proto::text_of(told.message()), true));
}

void Session::on_worker_ended(const proto::Message& message) {
  const auto& told = *message.body_as_WorkerEnded();
  if (const std::string fault = text_fault(told); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault);
  if (is_crew_or_refuse("WORKER_ENDED"))
    crew_->worker_ended(told.worker(), proto::shown(proto::text_of(told.message())));
}

}  // namespace spdld::control
