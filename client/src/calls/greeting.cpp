#include "client/src/calls/greeting.h"

#include <unistd.h>

#include <cerrno>

#include "proto/seqpacket.h"
#include "proto/text.h"

namespace spdld::client {

namespace {

CallOutcome with_version_advice(CallOutcome outcome) {
  if (outcome.result == SPDLD_VERSION) {
    outcome.text += " (this is libspdld " SPDLD_VERSION_TEXT ", protocol " + std::to_string(proto::kVersionMin) +
                    " to " + std::to_string(proto::kVersionMax) + ": install the same release on both sides)";
  }
  return outcome;
}

}  // namespace

CallOutcome refusal(const Connection& connection, const proto::ErrorReply& error) {
  const proto::ErrorCode code = error.code();
  std::string text = said(error.message());
  if (text.empty())
    text = "the daemon at " + connection.path() + " refused (" + std::string(proto::name_of(code)) + ")";
  return failure(result_of(code), std::move(text));
}

CallOutcome Greeting::connect(Deadline deadline) {
  UniqueFd socket;
  if (!start_) {
    socket = connect_before(endpoint_.path, deadline);
    const bool absent = !socket && (errno == ENOENT || errno == ECONNREFUSED);
    if (!socket && !(absent && endpoint_.is_private() && may_start_)) {
      const int error = errno;
      if (absent && !endpoint_.is_private() && has_folder(endpoint_)) state_.change(State::kAbsent);
      return connect_failure(endpoint_, error);
    }
    if (!socket) start_.emplace(endpoint_);
  }
  if (!socket) {
    const CallOutcome outcome = start_->advance(deadline, socket);
    if (!outcome.ok()) return outcome;
  }
  connection_ = std::make_shared<Connection>(std::move(socket), endpoint_.path);
  return {};
}

CallOutcome Greeting::say_hello() {
  flatbuffers::FlatBufferBuilder builder;
  const auto client = builder.CreateString(client_name_);
  const auto body = proto::CreateHello(builder, proto::kVersionMin, proto::kVersionMax, client, ::getpid());
  const UniqueFd self = proto::open_pidfd(::getpid());
  if (!self) {
    return failure(SPDLD_UNSUPPORTED, "pidfd_open is not possible here (" + text_of_errno(errno) +
                                          "): the daemon needs it to see this process end; Linux has it since 5.3");
  }
  const int fds[] = {self.get()};
  const bool is_sent = connection_->send(proto::finish(builder, proto::Body::Hello, body), fds);
  state_.change(is_sent ? State::kHelloSent : State::kLost);
  if (is_sent) return {};
  return failure(SPDLD_NO_DAEMON, "the daemon at " + endpoint_.path + " closed the connection at once");
}

CallOutcome Greeting::read_welcome() {
  const proto::Message& message = connection_->message();
  if (const auto* error = message.body_as_ErrorReply()) {
    if (error->code() == proto::ErrorCode::stopping) state_.change(State::kLost);
    return with_version_advice(refusal(*connection_, *error));
  }
  if (const auto* goodbye = message.body_as_Goodbye()) {
    state_.change(State::kLost);
    return shuts_down(*connection_, *goodbye);
  }
  const auto* welcome = message.body_as_Welcome();
  if (!welcome) return protocol_failure(*connection_, "it did not answer HELLO with WELCOME");
  daemon_ = proto::shown(proto::text_of(welcome->daemon()));
  if (welcome->version() < proto::kVersionMin || welcome->version() > proto::kVersionMax) {
    return with_version_advice(failure(SPDLD_VERSION, "the daemon at " + endpoint_.path + " (" + daemon_ +
                                                          ") speaks protocol " + std::to_string(welcome->version())));
  }
  state_.change(State::kWelcomed);
  return {};
}

CallOutcome Greeting::advance(Deadline deadline) {
  if (state_ == State::kConnecting) {
    CallOutcome outcome = connect(deadline);
    if (outcome.ok()) outcome = say_hello();
    if (!outcome.ok()) return outcome;
  }
  if (state_ == State::kWelcomed) return {};
  const CallOutcome outcome = connection_->receive(deadline);
  if (outcome.result == SPDLD_NO_DAEMON) state_.change(State::kLost);
  return outcome.ok() ? read_welcome() : outcome;
}

}  // namespace spdld::client
