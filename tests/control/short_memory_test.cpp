// What a client hears, and what becomes of its session, where the control thread finds no memory for its message.
#include <catch2/catch.hpp>
#include <new>

#include "tests/control/noting.h"
#include "tests/control/raw_client.h"

namespace spdld::control_short_memory_test {

using namespace spdld;
using proto::ErrorCode;
using test::OneRing;
using test::RawClient;
using test::Served;

namespace {

// Finds no memory when a batch is given back, and notes its end.
class Short final : public control::Attachment {
 public:
  explicit Short(int& ended) : ended_(ended) {}
  ~Short() override { ended_++; }
  bool release(const delivery::LeaseId&, uint64_t, uint64_t) override { throw std::bad_alloc(); }
  void dismiss(std::span<const delivery::LeaseId>) override {}
  bool holds_leases() const override { return false; }
  Status seek(const control::SeekRequest&) override { return Done{}; }
  Status push(const sampler::PushedSteps&) override { return Done{}; }

 private:
  int& ended_;
};

}  // namespace

TEST_CASE("a query without memory for its answer is answered so, and the next one is answered") {
  int asked = 0;
  Served served;
  served.service.on_query = [&](std::string_view, std::string_view) -> Result<std::string> {
    if (asked++ == 0) throw std::bad_alloc();
    return std::string("{}");
  };
  RawClient client(served.path());
  client.hello();
  client.send_query(1, proto::Topic::status);
  const auto [code, text] = client.hear_error();
  CHECK(code == ErrorCode::limit);
  CHECK_THAT(text, Catch::Contains("short of memory"));
  client.send_query(2, proto::Topic::status);
  const auto heard = client.hear();
  REQUIRE(heard);
  CHECK(heard->message().body_as_Answer());
}

TEST_CASE("an ATTACH without memory is refused once, and what comes of it later is given back") {
  const OneRing ring;
  int ended = 0;
  std::shared_ptr<control::AttachReply> kept;
  Served served;
  served.service.on_attach = [&](const control::Client&, control::AttachRequest, auto reply) {
    kept = std::move(reply);
    throw std::bad_alloc();
  };
  RawClient client(served.path());
  client.hello();
  client.send_attach(7, "p");
  const auto [code, text] = client.hear_error();
  CHECK(code == ErrorCode::limit);
  CHECK_THAT(text, Catch::Contains("short of memory"));
  served.on_control([&] {
    CHECK(kept->client_gone());
    kept->attached(std::make_unique<Short>(ended), ring.info());
    CHECK(ended == 1);
    kept.reset();
  });
  served.service.on_query = [](std::string_view, std::string_view) { return Result<std::string>(std::string("{}")); };
  client.send_query(2, proto::Topic::status);
  const auto heard = client.hear();
  REQUIRE(heard);
  CHECK(heard->message().body_as_Answer());
}

TEST_CASE("after half of another message the session ends, and the daemon goes on") {
  const OneRing ring;
  int ended = 0;
  Served served;
  served.service.on_attach = [&](const control::Client&, control::AttachRequest, const auto& reply) {
    reply->attached(std::make_unique<Short>(ended), ring.info());
  };
  RawClient client(served.path());
  client.hello();
  client.send_attach(1, "p");
  const auto attached = client.hear();
  REQUIRE(attached);
  REQUIRE(attached->message().body_as_Attached());
  client.send_release(attached->message().body_as_Attached()->attachment(), 0, 1);
  CHECK(client.hear_error().first == ErrorCode::limit);
  CHECK_FALSE(client.hear());
  served.wait_for_sessions(0);
  served.on_control([&] { CHECK(ended == 1); });
  RawClient next(served.path());
  next.hello();
}

}  // namespace spdld::control_short_memory_test
