#include "client/src/attaching.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "proto/seqpacket.h"
#include "proto/text.h"

namespace spdld::client {

namespace {

constexpr uint32_t kRequest = 1;                // a connection has one ATTACH
constexpr size_t kInlineSpecBytes = 32 * 1024;  // beside it there is room for every other field

// The GPUs that this process sees, in its own order.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<proto::Gpu>>> describe_gpus(
    flatbuffers::FlatBufferBuilder& builder, const GpuRequest& request) {
  if (!request.driver) return {};
  std::vector<flatbuffers::Offset<proto::Gpu>> gpus;
  for (const cuda::Device& device : request.driver->devices()) {
    if (gpus.size() == kGpusMax) break;
    const std::vector<uint8_t> uuid(device.uuid.bytes.begin(), device.uuid.bytes.end());
    gpus.push_back(proto::CreateGpuDirect(builder, &uuid, device.shares_fds));
  }
  return builder.CreateVector(gpus);
}

}  // namespace

CallOutcome answer_crew_wanted(const AttachRequest& request, const Connection& connection,
                               const proto::CrewWanted& wanted) {
  if (!request.crew.is_given()) return {};
  const std::string token(proto::text_of(wanted.token()));
  if (token.empty() || proto::shown(token) != token) return protocol_failure(connection, "CREW_WANTED without a token");
  return start_crew(request.crew, token, connection.path());
}

CallOutcome Attaching::ask() {
  const bool in_fd = request_.spec.size() > kInlineSpecBytes;
  UniqueFd memory;
  if (in_fd) {
    memory = proto::text_to_memfd(request_.spec, "spdld-spec");
    if (!memory) {
      return failure(SPDLD_INVALID, "the spec of " + std::to_string(request_.spec.size()) + " bytes cannot be sent (" +
                                        text_of_errno(errno) + ")");
    }
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&builder](const std::string& value) {
    return value.empty() ? flatbuffers::Offset<flatbuffers::String>() : builder.CreateString(value);
  };
  const auto pipeline = text(request_.pipeline);
  const auto spec = in_fd ? flatbuffers::Offset<flatbuffers::String>() : text(request_.spec);
  const auto folder = text(request_.spec_folder);
  const auto group = text(request_.group);
  const auto fingerprint = text(request_.fingerprint);
  const auto key_digests = text(request_.key_digests);
  const auto position = proto::CreatePosition(builder, request_.position.epoch, request_.position.step);
  const auto sought =
      request_.sought ? proto::CreatePosition(builder, request_.sought->epoch, request_.sought->step) : 0;
  const auto device = text(request_.gpus.device);
  const auto gpus = describe_gpus(builder, request_.gpus);
  const auto body = proto::CreateAttach(
      builder, kRequest, pipeline, spec, in_fd,
      request_.spec_is_json ? proto::SpecFormat::json : proto::SpecFormat::toml, folder, group, request_.rank,
      request_.world_size, request_.gpus.local_rank, request_.reader, request_.readers, position, fingerprint,
      request_.held_max, device, gpus, request_.gpus.transport, request_.gpus.ready_early, request_.join,
      request_.batch_size, sought, request_.looks, key_digests, request_.crew.is_given());
  const int fds[] = {memory.get()};
  const auto bytes = proto::finish(builder, proto::Body::Attach, body);
  const bool is_sent = greeting_.connection()->send(bytes, {fds, in_fd ? size_t{1} : size_t{0}});
  state_.change(is_sent ? State::kAsked : State::kLost);
  if (is_sent) return {};
  return failure(SPDLD_NO_DAEMON, "the daemon at " + greeting_.connection()->path() + " closed the connection");
}

// SPDLD_TIMEOUT: not the answer yet.
CallOutcome Attaching::read_answer() {
  Connection& connection = *greeting_.connection();
  const proto::Message& message = connection.message();
  if (const auto* preparing = message.body_as_Preparing()) {
    progress_ = {proto::shown(proto::text_of(preparing->what())), preparing->done(), preparing->total(),
                 progress_.messages + 1};
    return failure(SPDLD_TIMEOUT, {});
  }
  if (const auto* wanted = message.body_as_CrewWanted()) {
    ++progress_.messages;
    const CallOutcome outcome = answer_crew_wanted(request_, connection, *wanted);
    return outcome.ok() ? failure(SPDLD_TIMEOUT, {}) : outcome;
  }
  if (const auto* error = message.body_as_ErrorReply()) {
    if (error->code() == proto::ErrorCode::stopping) state_.change(State::kLost);
    if (error->code() == proto::ErrorCode::spec_refused) state_.change(State::kSpecRefused);
    return refusal(connection, *error);
  }
  if (const auto* goodbye = message.body_as_Goodbye()) {
    state_.change(State::kLost);
    return shuts_down(connection, *goodbye);
  }
  const auto* attached = message.body_as_Attached();
  if (!attached || attached->request() != kRequest) {
    return protocol_failure(connection, "it did not answer ATTACH with ATTACHED");
  }
  if (request_.batch_size != 0 && request_.batch_size != attached->batch_size())
    return protocol_failure(connection, "its batches have another size than ATTACH asked for");
  auto ring = std::make_shared<Ring>();
  CallOutcome outcome = ring->adopt(greeting_.connection(), *attached, connection.fds(), request_.gpus);
  if (outcome.ok()) ring_ = std::move(ring);
  return outcome;
}

CallOutcome Attaching::advance(Deadline deadline) {
  if (state_ == State::kGreeting) {
    CallOutcome outcome = greeting_.advance(deadline);
    if (outcome.ok()) outcome = ask();
    if (!outcome.ok()) return outcome;
    progress_.what = "waiting for the daemon";
  }
  for (;;) {  // each turn waits, at most until the deadline
    CallOutcome outcome = greeting_.connection()->receive(deadline);
    if (outcome.result == SPDLD_NO_DAEMON) state_.change(State::kLost);
    const bool is_silent = outcome.result == SPDLD_TIMEOUT;
    if (is_silent && progress_.messages == 0) return outcome;
    if (!is_silent) {
      if (!outcome.ok()) return outcome;
      outcome = read_answer();
      if (outcome.result != SPDLD_TIMEOUT) return outcome;
    }
    if (is_silent || deadline.passed()) {
      return failure(SPDLD_TIMEOUT, progress_.messages == 0
                                        ? "the daemon has not answered yet"
                                        : "the daemon is still " + progress_.what + " (" +
                                              std::to_string(progress_.done) +
                                              (progress_.total ? " of " + std::to_string(progress_.total) : "") + ")");
    }
  }
}

}  // namespace spdld::client
