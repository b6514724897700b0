#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

#include "tests/control/noting.h"
#include "tests/control/raw_client.h"

namespace spdld::session_test {

using namespace spdld;
using proto::ErrorCode;
using test::Notes;
using test::NotingAttachment;
using test::OneRing;
using test::RawClient;
using test::Served;

TEST_CASE("a session is as old as the time since its client came") {
  const auto begin = std::chrono::steady_clock::now();
  Served served;
  RawClient client(served.path());
  client.hello();
  served.on_control([&] {
    REQUIRE(served.server->sessions().size() == 1);
    const double age_s = served.server->sessions().begin()->second->age_s();
    CHECK(age_s > 0);
    CHECK(age_s < std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  });
}

TEST_CASE("the daemon's types and roles are the protocol's") {
  for (size_t number = 0; number < config::kDTypeCount; number++) {
    const auto dtype = static_cast<config::DType>(number);
    CHECK(proto::name_of(static_cast<proto::DType>(number)) == config::dtype_name(dtype));
    CHECK(proto::bytes_of(static_cast<proto::DType>(number)) == config::dtype_bytes(dtype));
  }
  const std::pair<batch::Role, proto::Role> roles[] = {{batch::Role::kRows, proto::Role::rows},
                                                       {batch::Role::kValues, proto::Role::values},
                                                       {batch::Role::kOffsets, proto::Role::offsets},
                                                       {batch::Role::kLengths, proto::Role::lengths},
                                                       {batch::Role::kMask, proto::Role::mask}};
  REQUIRE(std::size(roles) == static_cast<size_t>(proto::Role::MAX) + 1);
  for (const auto& [ours, theirs] : roles) CHECK(static_cast<int>(ours) == static_cast<int>(theirs));
}

TEST_CASE("the handshake") {
  Served served;
  const UniqueFd pidfd = proto::open_pidfd(getpid());

  SECTION("versions are agreed on") {
    RawClient client(served.path());
    client.send_hello(1, 7, {pidfd.get()});
    const auto heard = client.hear();
    REQUIRE(heard);
    const auto* welcome = heard->message().body_as_Welcome();
    REQUIRE(welcome);
    CHECK(welcome->version() == 1);
    CHECK(proto::text_of(welcome->daemon_id()) == "test-daemon");
  }
  SECTION("no common version: a sentence that names both") {
    RawClient client(served.path());
    client.send_hello(2, 7, {pidfd.get()});
    const auto [code, text] = client.hear_error();
    CHECK(code == ErrorCode::version);
    CHECK_THAT(text, Catch::Contains("2 to 7") && Catch::Contains("same release"));
    client.hello();  // and it may try again
  }
  SECTION("anything before HELLO, HELLO without a pidfd, HELLO twice") {
    RawClient client(served.path());
    client.send_query(1, proto::Topic::ping);
    CHECK(client.hear_error().first == ErrorCode::unexpected);
    client.send_hello(1, 1, {});
    CHECK(client.hear_error().first == ErrorCode::malformed);
    client.send_hello(1, 1, {STDIN_FILENO});
    CHECK(client.hear_error().first == ErrorCode::malformed);
    client.hello();
    client.send_hello(1, 1, {pidfd.get()});
    CHECK(client.hear_error().first == ErrorCode::unexpected);
  }
  SECTION("messages that only daemons send") {
    RawClient client(served.path());
    client.hello();
    flatbuffers::FlatBufferBuilder builder;
    client.send(proto::finish(builder, proto::Body::Goodbye, proto::CreateGoodbye(builder)));
    CHECK(client.hear_error().first == ErrorCode::unexpected);
  }
}

TEST_CASE("10,000 malformed messages get 10,000 answers, and others notice nothing") {
  Served served;
  served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
  RawClient bad(served.path()), good(served.path());
  bad.hello();
  good.hello();
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString("pipeline");
  const auto whole =
      proto::finish(builder, proto::Body::Query, proto::CreateQuery(builder, 1, proto::Topic::ping, text));
  std::mt19937 random(3);
  size_t answers = 0;
  for (int i = 0; i < 10'000; i++) {
    std::vector<uint8_t> bytes(whole.begin(), whole.end());
    switch (random() % 3) {
      case 0:
        bytes.resize(1 + random() % 8);
        break;  // cut
      case 1:
        bytes[0] = 0xff, bytes[1] = 0xff;
        break;  // an offset out of the message
      case 2:
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
        break;
    }
    bad.send(bytes);
    const auto heard = bad.hear();
    REQUIRE(heard);
    REQUIRE(heard->message().body_as_ErrorReply());
    REQUIRE(proto::text_of(heard->message().body_as_ErrorReply()->message()).size() > 10);
    answers++;
    if (i % 1000 == 0) {
      good.send_query(5, proto::Topic::ping);
      REQUIRE(good.hear()->message().body_as_Answer());
    }
  }
  CHECK(answers == 10'000);
  bad.send_query(6, proto::Topic::ping);  // even this one may go on
  CHECK(bad.hear()->message().body_as_Answer());
}

TEST_CASE("descriptors that a message does not call for are closed, and end the session") {
  const size_t count = GENERATE(1u, 2u);
  Served served;
  RawClient client(served.path());
  client.hello();
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(pipe_ends[0]);
  UniqueFd write_end(pipe_ends[1]);
  flatbuffers::FlatBufferBuilder builder;
  client.send(proto::finish(builder, proto::Body::Query, proto::CreateQuery(builder, 1, proto::Topic::ping)),
              std::vector<int>(count, write_end.get()));
  const auto [code, text] = client.hear_error();
  CHECK(code == ErrorCode::malformed);
  CHECK_THAT(text, Catch::Contains("carries " + std::to_string(count) + " descriptors"));
  CHECK_FALSE(client.hear());
  write_end.reset();
  char byte = 0;
  CHECK(read(read_end.get(), &byte, 1) == 0);  // waits until no writer is left
}

TEST_CASE("a spec that is refused is told by its own code") {
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest&,
                                 const std::shared_ptr<control::AttachReply>& to) { to->spec_refused("not yours"); };
  RawClient client(served.path());
  client.hello();
  for (const uint32_t request : {9u, 9u}) {  // the number is free again
    client.send_attach(request, "p");
    const auto heard = client.hear();
    REQUIRE(heard);
    const auto* error = heard->message().body_as_ErrorReply();
    REQUIRE(error);
    CHECK(error->request() == request);
    CHECK(error->code() == ErrorCode::spec_refused);
    CHECK_THAT(std::string(proto::text_of(error->message())), Catch::Contains("not yours"));
  }
}

TEST_CASE("attach: progress, slots, batches, release, seek, detach") {
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  uid_t told_uid = 0;  // assertions are this thread's alone
  std::string told_pipeline;
  Served served;
  batch::Slot slot{0, nullptr};
  served.service.on_attach = [&](const control::Client& client, const control::AttachRequest& request,
                                 const std::shared_ptr<control::AttachReply>& to) {
    told_uid = client.uid, told_pipeline = request.pipeline;
    reply = to;
    to->preparing("listing", 3, 0);
    to->attached(std::make_unique<NotingAttachment>(notes), ring.info());
    batch::Batch batch{&slot, 0, {0, 4}, {16, 6}, {1}};
    batch.absent = {0, 2, 4};
    batch.flaws = {{0, batch::FlawKind::kDropped, 16, "a", "k:eep dropped it"},
                   {1, batch::FlawKind::kDamaged, 17, "b", "rotten"},
                   {2, batch::FlawKind::kDropped, 18, "c", "k:eep dropped it"},
                   {4, batch::FlawKind::kTooLong, 20, "e", "long"}};
    to->reader().on_ready(batch, 12, 5);
  };
  RawClient client(served.path());
  client.hello();
  client.send_attach(9, "p");

  auto heard = client.hear();
  REQUIRE(heard->message().body_as_Preparing());
  CHECK(heard->message().body_as_Preparing()->done() == 3);
  heard = client.hear();
  const auto* attached = heard->message().body_as_Attached();
  REQUIRE(attached);
  CHECK(attached->request() == 9);
  CHECK(attached->slot_count() == 1);
  REQUIRE(heard->raw.fds.size() == 1);
  CHECK(lseek(heard->raw.fds[0].get(), 0, SEEK_END) == 8192);
  const uint32_t number = attached->attachment();
  heard = client.hear();
  const auto* ready = heard->message().body_as_Ready();
  REQUIRE(ready);
  CHECK(ready->attachment() == number);
  CHECK(ready->generation() == 12);
  CHECK(ready->run() == 5);  // the reader's own, not the batch's
  CHECK(ready->position()->step() == 4);
  CHECK(ready->valid() == 3);
  CHECK(ready->substituted() == 1);
  CHECK(ready->range()->count() == 6);
  CHECK(ready->absent() == 3);
  CHECK(ready->dropped() == 2);
  CHECK(ready->too_long() == 1);
  REQUIRE(ready->bad()->size() == 3);
  CHECK(ready->bad()->Get(0)->kind() == proto::BadKind::dropped);
  CHECK(ready->bad()->Get(0)->count() == 2);
  CHECK(ready->tensors()->Get(0)->shape()->Get(0) == 4);

  client.send_release(number, 0, 12);
  client.send_release(number, 0, 99);  // no such lease
  CHECK(client.hear_error().first == ErrorCode::not_found);
  client.send_release(number + 1, 0, 12);  // no such attachment
  CHECK(client.hear_error().first == ErrorCode::not_found);
  client.send_seek(number, 1, 2, 3);
  client.send_seek(number, 2, 2, 77);
  CHECK_THAT(client.hear_error().second, Catch::Contains("77"));
  served.on_control([&] { reply->seek_refused(7, {Trouble::kUsage, "they have parted"}); });
  heard = client.hear();
  REQUIRE(heard->message().body_as_ErrorReply());
  CHECK(heard->message().body_as_ErrorReply()->request() == 7);
  served.on_control([&] { reply->failed({Trouble::kContent, "the pipeline broke"}); });
  heard = client.hear();
  REQUIRE(heard->message().body_as_Failed());
  CHECK(heard->message().body_as_Failed()->code() == ErrorCode::failed);
  client.send_detach(number);
  client.send_detach(number);
  CHECK(client.hear_error().first == ErrorCode::not_found);
  served.on_control([&] { reply.reset(); });
  CHECK(told_uid == getuid());
  CHECK(told_pipeline == "p");
  CHECK(notes.released.size() == 2);
  CHECK(notes.sought.size() == 2);
  CHECK(notes.ended == 1);
}

TEST_CASE("pushed steps: read whole, refused by the request's number, and hostile ones change nothing") {
  OneRing ring;
  Notes notes;
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest&,
                                 const std::shared_ptr<control::AttachReply>& to) {
    auto info = ring.info();
    info.push_steps_max = 256, info.push_ids_max = 1000;
    to->attached(std::make_unique<NotingAttachment>(notes), info);
  };
  served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
  RawClient client(served.path());
  client.hello();
  client.send_attach(1, "p");
  const auto heard = client.hear();
  const auto* attached = heard->message().body_as_Attached();
  REQUIRE(attached);
  CHECK(attached->push_steps_max() == 256);
  CHECK(attached->push_ids_max() == 1000);
  const uint32_t number = attached->attachment();
  const auto push = [&](uint32_t attachment, const std::vector<uint32_t>& sizes, const std::vector<uint64_t>& ids,
                        bool last, bool placed = true) {
    flatbuffers::FlatBufferBuilder builder;
    const auto position = placed ? proto::CreatePosition(builder, 2, 3) : 0;
    const auto body = proto::CreatePushDirect(builder, attachment, 77, position, &sizes, &ids, last);
    client.send(proto::finish(builder, proto::Body::Push, body));
  };
  const auto refused = [&](ErrorCode code) {
    const auto answer = client.hear();
    const auto* error = answer->message().body_as_ErrorReply();
    REQUIRE(error);
    CHECK(error->request() == 77);
    CHECK(error->code() == code);
    return error->message()->str();
  };
  push(number + 1, {1}, {5}, false);
  CHECK(refused(ErrorCode::not_found) ==
        "PUSH names attachment " + std::to_string(number + 1) + ", which this session does not have");
  push(number, {1}, {5}, false, false);
  CHECK(refused(ErrorCode::not_found) == "PUSH names no position");
  push(number, {}, {}, true);
  refused(ErrorCode::limit);
  push(number, {2, 1}, {5, UINT64_MAX, 5}, true);
  push(number, std::vector<uint32_t>(8'000, UINT32_MAX), {}, false);  // as it is said; the order itself judges it
  client.send_detach(number);
  push(number, {1}, {5}, false);
  refused(ErrorCode::not_found);
  REQUIRE(notes.pushed.size() == 2);
  CHECK(notes.pushed[0].first == sampler::Position{2, 3});
  CHECK(notes.pushed[0].sizes == std::vector<uint32_t>{2, 1});
  CHECK(notes.pushed[0].ids == std::vector<uint64_t>{5, UINT64_MAX, 5});
  CHECK(notes.pushed[0].last);
  CHECK(notes.pushed[1].sizes.size() == 8'000);
}

TEST_CASE("digests of keys go both ways, and stay away from an ATTACHED that they would make too long") {
  const OneRing ring;
  Notes notes;
  std::string seen;
  size_t sources = 2;
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest& request,
                                 const std::shared_ptr<control::AttachReply>& to) {
    seen = request.key_digests;
    control::AttachedInfo info = ring.info();
    info.key_digests = "a=" + std::string(4000, 'A');
    info.sources.assign(sources, std::string(60, 's'));
    to->attached(std::make_unique<NotingAttachment>(notes), info);
  };
  for (const bool is_long : {false, true}) {
    sources = is_long ? 850 : 2;
    RawClient client(served.path());
    client.hello();
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("p"), digests = builder.CreateString("seed=AAAAAAAAAAA");
    proto::AttachBuilder attach(builder);
    attach.add_request(1);
    attach.add_pipeline(name);
    attach.add_key_digests(digests);
    client.send(proto::finish(builder, proto::Body::Attach, attach.Finish()));
    const auto heard = client.hear();
    REQUIRE(heard);
    const auto* attached = heard->message().body_as_Attached();
    REQUIRE(attached);
    CHECK(attached->sources()->size() == sources);
    CHECK(proto::text_of(attached->key_digests()).size() == (is_long ? 0 : 4002));
    served.on_control([&] { CHECK(seen == "seed=AAAAAAAAAAA"); });
  }
}

TEST_CASE("a ring that fails while its client attaches is told behind ATTACHED") {
  const OneRing ring;
  Notes notes;
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest&,
                                 const std::shared_ptr<control::AttachReply>& to) {
    to->failed({Trouble::kContent, "the pipeline broke"});
    to->attached(std::make_unique<NotingAttachment>(notes), ring.info());
  };
  RawClient client(served.path());
  client.hello();
  client.send_attach(9, "p");
  auto heard = client.hear();
  REQUIRE(heard);
  const auto* attached = heard->message().body_as_Attached();
  REQUIRE(attached);
  const uint32_t number = attached->attachment();
  heard = client.hear();
  REQUIRE(heard);
  const auto* failed = heard->message().body_as_Failed();
  REQUIRE(failed);
  CHECK(failed->attachment() == number);
  CHECK_THAT(std::string(proto::text_of(failed->message())), Catch::Contains("the pipeline broke"));
}

TEST_CASE("an attach that is answered after its client has gone is given back at once") {
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest&,
                                 const std::shared_ptr<control::AttachReply>& to) { reply = to; };
  {
    RawClient client(served.path());
    client.hello();
    client.send_attach(1, "p");
    while (true) {
      bool come = false;
      served.on_control([&] { come = reply != nullptr; });
      if (come) break;
    }
  }
  served.wait_for_sessions(0);
  bool gone = false;
  served.on_control([&] {
    gone = reply->client_gone();
    reply->attached(std::make_unique<NotingAttachment>(notes), ring.info());
    reply.reset();
  });
  CHECK(gone);
  CHECK(notes.ended == 1);
}

TEST_CASE("a spec in a memfd must be sealed") {
  std::string got;
  Served served;
  served.service.on_attach = [&](const control::Client&, const control::AttachRequest& request,
                                 const std::shared_ptr<control::AttachReply>& reply) {
    got = request.spec;
    reply->refused({Trouble::kUsage, "no"});
  };
  RawClient client(served.path());
  client.hello();
  const auto attach = [&](int fd) {
    flatbuffers::FlatBufferBuilder builder;
    proto::AttachBuilder message(builder);
    message.add_request(1);
    message.add_spec_in_fd(true);
    client.send(proto::finish(builder, proto::Body::Attach, message.Finish()), {fd});
    return client.hear_error();
  };
  const std::string text(200'000, 'x');
  const UniqueFd sealed = proto::text_to_memfd(text, "spec");
  CHECK(attach(sealed.get()).second == "no");
  CHECK(got == text);
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  CHECK(attach(read_end.get()).first == ErrorCode::malformed);
}

TEST_CASE("a long answer travels in a sealed memfd") {
  Served served;
  const std::string text = "{\"x\":\"" + std::string(300'000, 'y') + "\"}";
  served.service.on_query = [&](std::string_view topic, std::string_view argument) {
    return topic == "describe" && argument == "name" ? text : std::string();
  };
  RawClient client(served.path());
  client.hello();
  client.send_query(3, proto::Topic::describe, "name");
  const auto heard = client.hear();
  const auto* answer = heard->message().body_as_Answer();
  REQUIRE(answer);
  CHECK(answer->request() == 3);
  REQUIRE(answer->in_fd());
  std::string read;
  REQUIRE(proto::text_from_memfd(heard->raw.fds.at(0).get(), proto::kTextBytesMax, read));
  CHECK(read == text);
}

TEST_CASE("a lease that DETACH keeps goes on until its release, and nothing else of the attachment does") {
  OneRing ring;
  Notes notes;
  Served served;
  test::attach_all(served, ring, notes);
  served.service.on_query = [](std::string_view, std::string_view) { return std::string("{}"); };
  RawClient client(served.path());
  client.hello();
  const uint32_t number = test::attach(client);
  const auto ended = [&] {
    client.send_query(2, proto::Topic::ping);  // so that what was sent before has been taken
    REQUIRE(client.hear()->message().body_as_Answer());
    int count = 0;
    served.on_control([&] { count = notes.ended; });
    return count;
  };
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<proto::LeaseId> keeps = {proto::LeaseId(7, 0)};
  const auto kept = builder.CreateVectorOfStructs(keeps);
  client.send(proto::finish(builder, proto::Body::Detach, proto::CreateDetach(builder, number, kept)));
  CHECK(ended() == 0);
  client.send_detach(number);  // twice
  CHECK(client.hear_error().first == ErrorCode::not_found);
  client.send_release(number, 0, 7);
  CHECK(ended() == 1);
}

}  // namespace spdld::session_test
