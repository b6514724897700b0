// The border for texts: every text of every message that a client sends is held to its rule before anything uses it.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "proto/text.h"
#include "tests/control/raw_client.h"
#include "utf8/utf8.h"

namespace spdld::texts_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using proto::TextKind;

namespace {

// A field with a text, and how a client sends it.
struct Field {
  const char* name;
  TextKind kind;
  std::string sound;  // a text that is allowed there
  std::function<void(RawClient&, const std::string&)> send;
  bool is_hello = false;
};

void send_hello(RawClient& client, const std::string& name, const std::vector<std::string>& capabilities) {
  const UniqueFd pidfd = proto::open_pidfd(getpid());
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(name);
  const auto known = builder.CreateVectorOfStrings(capabilities);
  client.send(proto::finish(builder, proto::Body::Hello, proto::CreateHello(builder, 1, 1, text, getpid(), known)),
              {pidfd.get()});
}

// ATTACH with one text in this field.
template <void (proto::AttachBuilder::*kAdd)(flatbuffers::Offset<flatbuffers::String>)>
void send_attach(RawClient& client, const std::string& value) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(value);
  proto::AttachBuilder attach(builder);
  attach.add_request(1);
  (attach.*kAdd)(text);
  client.send(proto::finish(builder, proto::Body::Attach, attach.Finish()));
}

const std::vector<Field>& fields() {
  using Attach = proto::AttachBuilder;
  static const std::vector<Field> kFields = {
      {"Hello.client", TextKind::kClient, "caf\xc3\xa9 1.0 (py)",
       [](RawClient& client, const std::string& text) { send_hello(client, text, {}); }, true},
      {"Hello.capabilities", TextKind::kCapability, "a-capability",
       [](RawClient& client, const std::string& text) {
         send_hello(client, "raw", {"another", text});
       },
       true},
      {"Attach.pipeline", TextKind::kPipeline, "train-2.x_y", send_attach<&Attach::add_pipeline>},
      {"Attach.spec_folder", TextKind::kFolder, "/data/caf\xc3\xa9 1", send_attach<&Attach::add_spec_folder>},
      {"Attach.group", TextKind::kGroup, "team/run: 7", send_attach<&Attach::add_group>},
      {"Attach.fingerprint", TextKind::kFingerprint, "1-ab-cd-40", send_attach<&Attach::add_fingerprint>},
      {"Attach.key_digests", TextKind::kKeyDigests, "order/shuffle=AAAAAAAAAAA /[2]=B_.-",
       send_attach<&Attach::add_key_digests>},
      {"Attach.device", TextKind::kDevice, "cuda:0", send_attach<&Attach::add_device>},
      {"JoinCrew.token", TextKind::kToken, "0af3",
       [](RawClient& client, const std::string& text) {
         flatbuffers::FlatBufferBuilder builder;
         client.send(
             proto::finish(builder, proto::Body::JoinCrew, proto::CreateJoinCrew(builder, builder.CreateString(text))));
       }},
      {"Query.argument", TextKind::kArgument, "train 1 2 3",
       [](RawClient& client, const std::string& text) { client.send_query(1, proto::Topic::describe, text); }},
  };
  return kFields;
}

// The answer to a text in this field: "ok" where the server has let it through.
std::string answer_to(Served& served, const Field& field, const std::string& text) {
  RawClient client(served.path());
  if (!field.is_hello) client.hello();
  field.send(client, text);
  const auto heard = client.hear();
  REQUIRE(heard);
  const auto* error = heard->message().body_as_ErrorReply();
  if (!error || proto::text_of(error->message()) == "reached the node") return "ok";
  return std::string(proto::name_of(error->code())) + ": " + std::string(proto::text_of(error->message()));
}

class Border {
 public:
  Border() {
    served.service.on_attach = [](const control::Client&, const control::AttachRequest&,
                                  const std::shared_ptr<control::AttachReply>& reply) {
      reply->refused({Trouble::kUsage, "reached the node"});
    };
    served.service.on_join_crew = [](const control::Client&, std::string_view, const auto&) {
      return Error{Trouble::kUsage, "reached the node"};
    };
    served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
  }
  Served served;
};

// The texts that clients send, as control.fbs declares them.
std::set<std::string> texts_of_schema() {
  std::ifstream file(std::string(SPDLD_SOURCE_ROOT) + "/proto/control.fbs");
  std::stringstream read;
  read << file.rdbuf();
  const std::string all = read.str();
  const size_t first = all.find("- client to daemon"), last = all.find("- daemon to client");
  REQUIRE(first < last);
  const std::string text = std::regex_replace(all.substr(first, last - first), std::regex("//[^\n]*"), "");
  const std::regex table("table\\s+(\\w+)\\s*\\{([^}]*)\\}"), field("(\\w+)\\s*:\\s*\\[?string\\]?");
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), table), end; at != end; ++at) {
    const std::string name = (*at)[1], body = (*at)[2];
    for (std::sregex_iterator one(body.begin(), body.end(), field); one != end; ++one)
      found.insert(name + "." + (*one)[1].str());
  }
  return found;
}

}  // namespace

TEST_CASE("a text with a NUL, another control character or a wrong byte is refused in every field") {
  Border border;
  const std::vector<std::string> hostile = {std::string("a\0", 2),
                                            std::string("\0", 1),
                                            "a\nERROR forged",
                                            "a\x1b[31mred",
                                            "a\x7f",
                                            std::string("a\xc2\x9b") + "31m",
                                            "a\xff",
                                            "a\xc0\x80",
                                            "a\xed\xa0\x80",
                                            "a\xe2\x82"};
  for (const Field& field : fields()) {
    INFO(field.name);
    CHECK(answer_to(border.served, field, field.sound) == "ok");
    for (const std::string& part : hostile) {
      const std::string answer = answer_to(border.served, field, field.sound + part);
      CHECK_THAT(answer, Contains("malformed: "));
      CHECK(answer.find(part) == std::string::npos);  // it does not come back
      CHECK_FALSE(utf8::has_control(answer));
    }
  }
}

TEST_CASE("a text that is too long is refused, not cut") {
  Border border;
  for (const Field& field : fields()) {
    INFO(field.name);
    const size_t most = proto::rule_of(field.kind).bytes_max;
    const std::string longest = field.sound + std::string(most - field.sound.size(), 'x');
    CHECK(answer_to(border.served, field, longest) == "ok");
    CHECK_THAT(answer_to(border.served, field, longest + "x"),
               Contains("malformed: ") && Contains("more than " + std::to_string(most) + " bytes"));
  }
}

TEST_CASE("names that are paths, and folders that are none, are refused") {
  Border border;
  const auto refused = [&](const char* name, const std::vector<std::string>& texts) {
    const auto field =
        std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return name == std::string(f.name); });
    REQUIRE(field != fields().end());
    for (const std::string& text : texts) {
      INFO(text);
      CHECK_THAT(answer_to(border.served, *field, text), Contains("malformed: ATTACH: the "));
    }
  };
  refused("Attach.pipeline", {".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a b", "caf\xc3\xa9", "-x", "a\\b"});
  refused("Attach.spec_folder", {"data", "./data", "../data", "~"});
  refused("Attach.device", {"cuda 0", "cpu/1", "caf\xc3\xa9"});
  refused("Attach.fingerprint", {"1 2", "1/2"});
}

TEST_CASE("more capabilities than a client can have are refused") {
  Border border;
  RawClient client(border.served.path());
  send_hello(client, "raw", std::vector<std::string>(65, "x"));
  CHECK_THAT(client.hear_error().second, Contains("more than 64 capabilities"));
  send_hello(client, "raw", std::vector<std::string>(64, "x"));
  CHECK(client.hear()->message().body_as_Welcome());
}

TEST_CASE("no text of a client's message is left out here") {
  // The reader of a spec refuses control characters, with their line. Reports may be any text (crew_test.cpp).
  std::set<std::string> looked_at = {"Attach.spec", "CrewFailed.message", "CrewProgress.what", "WorkerEnded.message"};
  for (const Field& field : fields()) looked_at.insert(field.name);
  CHECK(texts_of_schema() == looked_at);
}

}  // namespace spdld::texts_test
