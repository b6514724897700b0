#include "client/src/query.h"

#include "client/src/attaching.h"

namespace spdld::client {

namespace {

constexpr uint32_t kRequest = 1;
constexpr size_t kArgumentBytesMax = 32 * 1024;  // a thousand sample ids fit

Outcome find_topic(std::string_view name, proto::Topic& topic) {
  for (const proto::Topic known : proto::EnumValuesTopic()) {
    if (name != proto::EnumNameTopic(known)) continue;
    topic = known;
    return {};
  }
  return failure(SPDLD_INVALID, "there is no topic \"" + std::string(name) +
                                    "\": ask for ping, status, list, describe, errors or samples");
}

Outcome read_answer(Connection& connection, std::string& json) {
  const proto::Message& message = connection.message();
  if (const auto* error = message.body_as_ErrorReply()) {
    return failure(result_of(error->code()), std::string(proto::text_of(error->message())));
  }
  const auto* answer = message.body_as_Answer();
  if (!answer || answer->request() != kRequest) return protocol_failure(connection, "it did not answer the query");
  json = proto::text_of(answer->json());
  if (!answer->in_fd()) return {};
  std::vector<UniqueFd>& fds = connection.fds();
  if (fds.size() != 1 || !proto::text_from_memfd(fds[0].get(), proto::kTextBytesMax, json) ||
      json.size() != answer->bytes()) {
    return protocol_failure(connection, "an answer without its sealed text");
  }
  return {};
}

}  // namespace

Outcome query(const char* socket, std::string_view topic_name, const std::string& argument, Deadline deadline,
              std::string& json) {
  proto::Topic topic = proto::Topic::ping;
  Endpoint endpoint;
  Outcome outcome = find_topic(topic_name, topic);
  if (argument.size() > kArgumentBytesMax) outcome = failure(SPDLD_INVALID, "the query's argument is too long");
  if (outcome.ok()) outcome = find_endpoint(socket, endpoint);
  if (!outcome.ok()) return outcome;
  Greeting greeting(endpoint, "libspdld " SPDLD_VERSION_TEXT " (query)", /*may_start=*/false);
  outcome = greeting.advance(deadline);
  if (!outcome.ok()) return outcome;

  Connection& connection = *greeting.connection();
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(argument);
  const auto body = proto::CreateQuery(builder, kRequest, topic, text);
  if (!connection.send(proto::finish(builder, proto::Body::Query, body))) {
    return failure(SPDLD_NO_DAEMON, "the daemon at " + endpoint.path + " closed the connection");
  }
  outcome = connection.receive(deadline);
  return outcome.ok() ? read_answer(connection, json) : outcome;
}

}  // namespace spdld::client
