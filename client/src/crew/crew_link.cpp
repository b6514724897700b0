#include "client/src/crew/crew_link.h"

#include <utility>

#include "client/src/calls/greeting.h"
#include "proto/message.h"

namespace spdld::client {

namespace {

constexpr size_t kSentenceBytesMax = 16 * 1024;  // beside it there is room for every other field

CrewEvent ended(std::string why) { return {.kind = CrewEventKind::kEnd, .text = std::move(why)}; }

}  // namespace

CallOutcome CrewLink::join(const std::string& socket, const std::string& token, Deadline deadline) {
  Endpoint endpoint;
  endpoint.path = socket;
  Greeting greeting(std::move(endpoint), "libspdld " SPDLD_VERSION_TEXT " (crew)", false);
  CallOutcome outcome = greeting.advance(deadline);
  if (!outcome.ok()) return outcome;
  connection_ = greeting.connection();
  flatbuffers::FlatBufferBuilder builder;
  const auto body = proto::CreateJoinCrewDirect(builder, token.c_str());
  if (connection_->send(proto::finish(builder, proto::Body::JoinCrew, body))) return {};
  return failure(SPDLD_NO_DAEMON, "the daemon at " + socket + " closed the connection");
}

CrewEvent CrewLink::take() {
  const CallOutcome outcome = connection_->receive(Deadline::after_ms(0));
  if (outcome.result == SPDLD_TIMEOUT || outcome.result == SPDLD_INTERRUPTED) return {};
  if (!outcome.ok()) return ended(outcome.text);
  const proto::Message& message = connection_->message();
  std::vector<UniqueFd>& fds = connection_->fds();
  if (const auto* joined = message.body_as_CrewJoined()) {
    const std::string_view errands = proto::text_of(joined->errands());
    if (fds.size() != 1) return ended("the daemon broke the protocol: CREW_JOINED without the scratch memory");
    return {.kind = CrewEventKind::kJoined,
            .text = std::string(errands),
            .scratch_bytes = joined->scratch_bytes(),
            .memory_max = joined->memory_max(),
            .fds = std::exchange(fds, {})};
  }
  if (const auto* start = message.body_as_StartWorker()) {
    if (fds.size() != 2) return ended("the daemon broke the protocol: START_WORKER without two descriptors");
    return {.kind = CrewEventKind::kStartWorker, .worker = start->worker(), .fds = std::exchange(fds, {})};
  }
  if (const auto* end = message.body_as_EndWorker())
    return {.kind = CrewEventKind::kEndWorker, .worker = end->worker()};
  const auto* error = message.body_as_ErrorReply();
  if (error && error->code() == proto::ErrorCode::not_found) return {.kind = CrewEventKind::kNotWanted};
  if (error) return ended(refusal(*connection_, *error).text);
  if (const auto* goodbye = message.body_as_Goodbye()) return ended(shuts_down(*connection_, *goodbye).text);
  return ended("the daemon broke the protocol: a message that a crew does not expect");
}

void CrewLink::tell_progress(const std::string& what, uint32_t done, uint32_t total) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = proto::CreateCrewProgressDirect(builder, what.substr(0, kSentenceBytesMax).c_str(), done, total);
  connection_->post(proto::finish(builder, proto::Body::CrewProgress, body));
}

void CrewLink::tell_ready() {
  flatbuffers::FlatBufferBuilder builder;
  connection_->post(proto::finish(builder, proto::Body::CrewReady, proto::CreateCrewReady(builder)));
}

void CrewLink::tell_failed(const std::string& sentence) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = proto::CreateCrewFailedDirect(builder, sentence.substr(0, kSentenceBytesMax).c_str());
  connection_->post(proto::finish(builder, proto::Body::CrewFailed, body));
}

void CrewLink::tell_worker_ended(uint32_t worker, const std::string& how) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = proto::CreateWorkerEndedDirect(builder, worker, how.substr(0, kSentenceBytesMax).c_str());
  connection_->post(proto::finish(builder, proto::Body::WorkerEnded, body));
}

}  // namespace spdld::client
