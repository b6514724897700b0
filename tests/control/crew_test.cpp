// The session of a crew: who may say what, and what reaches whom.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "proto/text.h"
#include "tests/control/raw_client.h"

namespace spdld::control_crew_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using flatbuffers::FlatBufferBuilder;
using proto::Body;

namespace {

// What a crew's seat was told, as lines of text. On the control thread.
class NotingSeat final : public control::CrewSeat {
 public:
  explicit NotingSeat(std::vector<std::string>& notes) : notes_(notes) {}
  ~NotingSeat() override { notes_.emplace_back("gone"); }
  void progress(std::string_view what, uint32_t done, uint32_t total) override {
    notes_.push_back(std::string(what) + " " + std::to_string(done) + "/" + std::to_string(total));
  }
  void ready() override { notes_.emplace_back("ready"); }
  void failed(std::string_view why) override { notes_.push_back("failed: " + std::string(why)); }
  void worker_ended(uint32_t worker, std::string_view how) override {
    notes_.push_back(std::to_string(worker) + " " + std::string(how));
  }

 private:
  std::vector<std::string>& notes_;
};

// A server whose service takes crews with the token "0af3".
class CrewRig {
 public:
  CrewRig() {
    served_.service.on_join_crew =
        [this](const control::Client& client, std::string_view token,
               std::shared_ptr<control::CrewReply> reply) -> Result<std::unique_ptr<control::CrewSeat>> {
      uid_ = client.uid;
      if (token != "0af3") return Error{Trouble::kNotFound, "no crew is wanted with this token"};
      reply_ = std::move(reply);
      return std::unique_ptr<control::CrewSeat>(std::make_unique<NotingSeat>(notes_));
    };
    served_.service.on_attach = [](const control::Client&, const control::AttachRequest& request,
                                   const std::shared_ptr<control::AttachReply>& reply) {
      if (request.starts_crews) reply->want_crew("0af3");
      reply->refused({Trouble::kUsage, "reached the node"});
    };
  }

  std::string path() const { return served_.path(); }
  std::vector<std::string> notes() {
    std::vector<std::string> now;
    served_.on_control([&] { now = notes_; });
    return now;
  }
  void on_reply(const std::function<void(control::CrewReply&)>& what) {
    served_.on_control([&] { what(*reply_); });
  }
  void wait_for_sessions(size_t count) { served_.wait_for_sessions(count); }
  uid_t uid() const { return uid_; }

 private:
  std::vector<std::string> notes_;
  std::shared_ptr<control::CrewReply> reply_;
  uid_t uid_ = 65534;
  Served served_;  // first to go
};

template <typename Make>
void say(RawClient& client, Body type, const Make& make) {
  FlatBufferBuilder builder;
  client.send(proto::finish(builder, type, make(builder)));
}

void join(RawClient& client, const char* token) {
  say(client, Body::JoinCrew, [&](FlatBufferBuilder& builder) { return proto::CreateJoinCrewDirect(builder, token); });
}

void say_ended(RawClient& client, const std::string& how) {
  say(client, Body::WorkerEnded,
      [&](FlatBufferBuilder& builder) { return proto::CreateWorkerEndedDirect(builder, 3, how.c_str()); });
}

// A second JOIN_CREW is refused; behind the refusal all messages before it have been taken.
void settle(RawClient& crew) {
  join(crew, "0af3");
  CHECK_THAT(crew.hear_error().second, Contains("session of its own"));
}

}  // namespace

TEST_CASE("what a crew tells reaches its seat, and the seat goes with the session") {
  CrewRig rig;
  {
    RawClient crew(rig.path());
    crew.hello();
    join(crew, "0af3");
    say(crew, Body::CrewProgress,
        [](FlatBufferBuilder& builder) { return proto::CreateCrewProgressDirect(builder, "importing augment", 1, 2); });
    say(crew, Body::CrewReady, [](FlatBufferBuilder& builder) { return proto::CreateCrewReady(builder); });
    say_ended(crew, "was ended by signal 9");
    say(crew, Body::CrewFailed,
        [](FlatBufferBuilder& builder) { return proto::CreateCrewFailedDirect(builder, "no module"); });
    settle(crew);
    CHECK(rig.uid() == getuid());
    CHECK(rig.notes() ==
          std::vector<std::string>{"importing augment 1/2", "ready", "3 was ended by signal 9", "failed: no module"});
  }
  rig.wait_for_sessions(0);
  CHECK(rig.notes().back() == "gone");
}

TEST_CASE("a crew is told its work, and gets the descriptors of its workers") {
  CrewRig rig;
  RawClient crew(rig.path());
  crew.hello();
  join(crew, "0af3");
  settle(crew);
  const UniqueFd memory(proto::text_to_memfd("scratch", "t"));
  rig.on_reply([&](control::CrewReply& reply) {
    reply.joined({"{}", memory.get(), 4096, 77});
    std::vector<UniqueFd> descriptors;
    descriptors.emplace_back(dup(memory.get()));
    descriptors.emplace_back(dup(memory.get()));
    reply.start_worker(5, std::move(descriptors));
    reply.end_worker(5);
  });
  const auto joined = crew.hear();
  REQUIRE(joined);
  REQUIRE(joined->message().body_as_CrewJoined());
  CHECK(joined->raw.fds.size() == 1);
  CHECK(joined->message().body_as_CrewJoined()->scratch_bytes() == 4096);
  CHECK(joined->message().body_as_CrewJoined()->memory_max() == 77);
  CHECK(proto::text_of(joined->message().body_as_CrewJoined()->errands()) == "{}");
  const auto start = crew.hear();
  REQUIRE(start->message().body_as_StartWorker());
  CHECK(start->message().body_as_StartWorker()->worker() == 5);
  CHECK(start->raw.fds.size() == 2);
  REQUIRE(crew.hear()->message().body_as_EndWorker());
  rig.on_reply([](control::CrewReply& reply) { reply.end("the test ends it"); });
  CHECK_FALSE(crew.hear());
  // Behind the end of the session nothing reaches anybody.
  rig.wait_for_sessions(0);
  rig.on_reply([](control::CrewReply& reply) {
    reply.joined({});
    reply.start_worker(1, {});
    reply.end_worker(1);
    reply.end("again");
  });
}

TEST_CASE("a session that has not joined can tell nothing as a crew, and a crew attaches to nothing") {
  CrewRig rig;
  RawClient client(rig.path());
  client.hello();
  join(client, "0af4");
  CHECK(client.hear_error().first == proto::ErrorCode::not_found);
  say(client, Body::CrewReady, [](FlatBufferBuilder& builder) { return proto::CreateCrewReady(builder); });
  CHECK_THAT(client.hear_error().second, Contains("behind JOIN_CREW"));
  say_ended(client, "x");
  CHECK(client.hear_error().first == proto::ErrorCode::unexpected);
  say(client, Body::CrewFailed, [](FlatBufferBuilder& builder) { return proto::CreateCrewFailedDirect(builder, "x"); });
  CHECK(client.hear_error().first == proto::ErrorCode::unexpected);
  say(client, Body::CrewProgress,
      [](FlatBufferBuilder& builder) { return proto::CreateCrewProgressDirect(builder, "x", 1, 2); });
  CHECK(client.hear_error().first == proto::ErrorCode::unexpected);
  CHECK(rig.notes().empty());
  join(client, "0af3");
  client.send_attach(1, "train");
  CHECK_THAT(client.hear_error().second, Contains("attaches to nothing"));
}

TEST_CASE("a trainer that starts crews is asked for one") {
  CrewRig rig;
  RawClient trainer(rig.path());
  trainer.hello();
  say(trainer, Body::Attach, [](FlatBufferBuilder& builder) {
    const auto pipeline = builder.CreateString("train"), group = builder.CreateString("g");
    proto::AttachBuilder attach(builder);
    attach.add_request(1);
    attach.add_pipeline(pipeline);
    attach.add_group(group);
    attach.add_starts_crews(true);
    return attach.Finish();
  });
  const auto wanted = trainer.hear();
  REQUIRE(wanted);
  REQUIRE(wanted->message().body_as_CrewWanted());
  CHECK(proto::text_of(wanted->message().body_as_CrewWanted()->token()) == "0af3");
}

TEST_CASE("reports of user code are bounded, and shown without control characters") {
  CrewRig rig;
  RawClient crew(rig.path());
  crew.hello();
  join(crew, "0af3");
  say_ended(crew, std::string(16385, 'x'));
  CHECK_THAT(crew.hear_error().second, Contains("WORKER_ENDED: the report has more than 16384 bytes"));
  say(crew, Body::CrewFailed, [](FlatBufferBuilder& builder) {
    return proto::CreateCrewFailedDirect(builder, std::string(16385, 'x').c_str());
  });
  CHECK_THAT(crew.hear_error().second, Contains("CREW_FAILED"));
  say(crew, Body::CrewProgress, [](FlatBufferBuilder& builder) {
    return proto::CreateCrewProgressDirect(builder, std::string(16385, 'x').c_str(), 0, 1);
  });
  CHECK_THAT(crew.hear_error().second, Contains("CREW_PROGRESS"));
  say_ended(crew, "a\x1b[31mred\xff\n");
  settle(crew);
  CHECK(rig.notes().back() == "3 a\\x1b[31mred\\xff\\x0a");
  say(crew, Body::CrewFailed,
      [](FlatBufferBuilder& builder) { return proto::CreateCrewFailedDirect(builder, "a\x1b[31mred\xff\nb"); });
  say(crew, Body::CrewProgress,
      [](FlatBufferBuilder& builder) { return proto::CreateCrewProgressDirect(builder, "a\x1b[31m", 1, 2); });
  settle(crew);
  const auto notes = rig.notes();
  CHECK(notes.at(notes.size() - 2) == "failed: a\\x1b[31mred\\xff\nb");  // its lines stay
  CHECK(notes.back() == "a\\x1b[31m 1/2");
}

}  // namespace spdld::control_crew_test
