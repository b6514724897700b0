#include "client/src/query.h"

#include "client/src/attaching.h"
#include "proto/text.h"

namespace spdld::client {

namespace {

constexpr uint32_t kQueryRequest = 1;

CallOutcome find_topic(std::string_view name, proto::Topic& topic) {
  for (const proto::Topic known : proto::EnumValuesTopic()) {
    if (name != proto::EnumNameTopic(known)) continue;
    topic = known;
    return {};
  }
  return failure(SPDLD_INVALID,
                 "there is no topic \"" + std::string(name) +
                     "\": ask for ping, status, list, describe, errors, samples, metrics, trace or page");
}

CallOutcome read_answer(Connection& connection, std::string& json) {
  const proto::Message& message = connection.message();
  if (const auto* error = message.body_as_ErrorReply()) {
    return failure(result_of(error->code()), said(error->message()));
  }
  if (const auto* goodbye = message.body_as_Goodbye()) return shuts_down(connection, *goodbye);
  const auto* answer = message.body_as_Answer();
  if (!answer || answer->request() != kQueryRequest) return protocol_failure(connection, "it did not answer the query");
  json = proto::text_of(answer->json());
  std::vector<UniqueFd>& fds = connection.fds();
  const bool is_there =
      !answer->in_fd() || (fds.size() == 1 && proto::text_from_memfd(fds[0].get(), proto::kTextBytesMax, json) &&
                           json.size() == answer->bytes());
  if (!is_there) return protocol_failure(connection, "an answer without its sealed text");
  // The caller gets a C text, which ends at its first NUL.
  if (json.find('\0') != std::string::npos) return protocol_failure(connection, "an answer with a NUL");
  return {};
}

}  // namespace

CallOutcome query(const char* socket, std::string_view topic_name, const std::string& argument, Deadline deadline,
                  std::string& json) {
  proto::Topic topic = proto::Topic::ping;
  Endpoint endpoint;
  CallOutcome outcome = find_topic(topic_name, topic);
  const std::string fault = proto::text_fault(proto::TextKind::kArgument, argument);
  if (!fault.empty()) outcome = failure(SPDLD_INVALID, "the query's argument " + fault);
  if (outcome.ok()) outcome = find_endpoint(socket, endpoint);
  if (!outcome.ok()) return outcome;
  Greeting greeting(endpoint, "libspdld " SPDLD_VERSION_TEXT " (query)", /*may_start=*/false);
  outcome = greeting.advance(deadline);
  if (!outcome.ok()) return outcome;

  Connection& connection = *greeting.connection();
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(argument);
  const auto body = proto::CreateQuery(builder, kQueryRequest, topic, text);
  if (!connection.send(proto::finish(builder, proto::Body::Query, body))) {
    return failure(SPDLD_NO_DAEMON, "the daemon at " + endpoint.path + " closed the connection");
  }
  outcome = connection.receive(deadline);
  return outcome.ok() ? read_answer(connection, json) : outcome;
}

}  // namespace spdld::client
