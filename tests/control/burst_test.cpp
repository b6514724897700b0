// One session that attaches as often as it can: each ATTACH is answered, their number is bounded, and nothing is left.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/control/session.h"
#include "tests/control/noting.h"
#include "tests/control/raw_client.h"
#include "tests/support/soon.h"

namespace spdld::burst_test {

using namespace spdld;
using namespace spdld::test;
using proto::ErrorCode;

namespace {

constexpr uint32_t kMax = control::Session::kAttachmentsMax, kBurst = 3 * kMax;

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) count++;
  return count;
}

// A server whose attaches wait until the test answers them, in the order in which they came.
class Waiting {
 public:
  Waiting() {
    served.service.on_attach = [this](const control::Client&, const control::AttachRequest&,
                                      const std::shared_ptr<control::AttachReply>& reply) { replies.push_back(reply); };
    served.service.on_query = [](std::string_view, std::string_view) { return Result<std::string>("{}"); };
  }
  ~Waiting() {
    served.on_control([&] { replies.clear(); });
  }
  // Waits until the session has read everything that was sent before.
  void read_all(RawClient& client) {
    client.send_query(1, proto::Topic::ping);
    while (!client.hear()->message().body_as_Answer()) continue;
  }
  size_t count() {
    size_t waiting = 0;
    served.on_control([&] { waiting = replies.size(); });
    return waiting;
  }
  void attach_all() {
    served.on_control([&] {
      for (const auto& reply : replies) reply->attached(std::make_unique<NotingAttachment>(notes), ring.info());
    });
  }
  void refuse_all() {
    served.on_control([&] {
      for (const auto& reply : replies) reply->refused({Trouble::kNotFound, "there is no such pipeline"});
      replies.clear();
    });
  }

  Notes notes;
  OneRing ring;
  std::vector<std::shared_ptr<control::AttachReply>> replies;  // the control thread's
  Served served;                                               // last: its sessions use the others
};

// Sends ATTACHs with the requests `first` .. `end` - 1.
void send_attaches(RawClient& client, uint32_t first, uint32_t end) {
  for (uint32_t request = first; request < end; ++request) client.send_attach(request, "p");
}

// The requests that the next `count` messages refuse with `code`.
std::set<uint32_t> hear_refused(RawClient& client, size_t count, ErrorCode code) {
  std::set<uint32_t> requests;
  for (size_t i = 0; i < count; ++i) {
    const auto heard = client.hear();
    REQUIRE(heard);
    const auto* error = heard->message().body_as_ErrorReply();
    REQUIRE(error);
    CHECK(error->code() == code);
    requests.insert(error->request());
  }
  return requests;
}

std::set<uint32_t> range(uint32_t first, uint32_t end) {
  std::set<uint32_t> all;
  for (uint32_t request = first; request < end; ++request) all.insert(request);
  return all;
}

// The numbers of attachments that the next `count` messages give, by request. Each brings one descriptor.
std::map<uint32_t, uint32_t> hear_attached(RawClient& client, size_t count) {
  std::map<uint32_t, uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    const auto heard = client.hear();
    REQUIRE(heard);
    const auto* attached = heard->message().body_as_Attached();
    REQUIRE(attached);
    CHECK(heard->raw.fds.size() == 1);
    numbers.emplace(attached->request(), attached->attachment());
  }
  return numbers;
}

}  // namespace

TEST_CASE("a burst of attaches in one session is bounded, and each is answered once") {
  Waiting node;
  const size_t files = open_files();
  {
    RawClient client(node.served.path()), other(node.served.path());
    client.hello();
    other.hello();
    send_attaches(client, 1, 1 + kBurst);
    CHECK(hear_refused(client, kBurst - kMax, ErrorCode::limit) == range(1 + kMax, 1 + kBurst));
    CHECK(node.count() == kMax);
    // The others have their own room.
    other.send_attach(7, "p");
    node.read_all(other);
    CHECK(node.count() == kMax + 1);

    node.attach_all();
    const auto numbers = hear_attached(client, kMax);
    CHECK(hear_attached(other, 1).count(7) == 1);
    std::set<uint32_t> requests, attachments;
    for (const auto& [request, number] : numbers) requests.insert(request), attachments.insert(number);
    CHECK(requests == range(1, 1 + kMax));
    CHECK(attachments.size() == kMax);

    client.send_attach(500, "p");  // all places are taken
    CHECK(hear_refused(client, 1, ErrorCode::limit) == range(500, 501));
    client.send_detach(numbers.begin()->second);  // gives one place back
    send_attaches(client, 501, 503);
    CHECK(hear_refused(client, 1, ErrorCode::limit) == range(502, 503));
    CHECK(node.count() == kMax + 2);
  }
  node.served.wait_for_sessions(0);
  node.served.on_control([&] {
    node.replies.back()->attached(std::make_unique<NotingAttachment>(node.notes), node.ring.info());
    node.replies.clear();
  });
  CHECK(node.notes.ended == static_cast<int>(kMax) + 2);
  CHECK(soon([&] { return node.served.server->closing() == 0; }));  // on threads of their own
  CHECK(open_files() == files);
}

TEST_CASE("an attach that was refused gives its place back, and one that waits keeps its number") {
  Waiting node;
  RawClient client(node.served.path());
  client.hello();
  for (int round = 0; round < 5; ++round) {
    send_attaches(client, 1, 1 + kMax);
    client.send_attach(1, "p");  // the number of an attach that waits
    CHECK(hear_refused(client, 1, ErrorCode::limit) == range(1, 2));
    node.read_all(client);
    REQUIRE(node.count() == kMax);
    node.refuse_all();
    CHECK(hear_refused(client, kMax, ErrorCode::not_found) == range(1, 1 + kMax));
  }
  client.send_attach(1, "p");
  client.send_attach(1, "p");  // not so many, but the same number
  CHECK(hear_refused(client, 1, ErrorCode::limit) == range(1, 2));
  node.read_all(client);
  CHECK(node.count() == 1);
}

TEST_CASE("a session that ends in a burst of attaches gives back what is still prepared for it") {
  Waiting node;
  const size_t files = open_files();
  {
    RawClient client(node.served.path());
    client.hello();
    send_attaches(client, 1, 1 + kMax);
    node.read_all(client);
    REQUIRE(node.count() == kMax);
  }
  node.served.wait_for_sessions(0);
  size_t gone = 0;
  node.served.on_control([&] {
    for (const auto& reply : node.replies) gone += reply->client_gone() ? 1 : 0;
  });
  CHECK(gone == kMax);
  node.attach_all();
  CHECK(node.notes.ended == static_cast<int>(kMax));
  CHECK(soon([&] { return node.served.server->closing() == 0; }));  // on threads of their own
  CHECK(open_files() == files);
}

}  // namespace spdld::burst_test
