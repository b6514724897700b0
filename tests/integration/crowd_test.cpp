// One user takes all that a user can take, and the others go on.
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "proto/message.h"
#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::crowd_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr uid_t kGreedy = 12345, kOther = 12346, kThird = 12347;

// A client that may fail without the test's doing so: it runs in another user's process.
class Visitor {
 public:
  explicit Visitor(const std::string& path) : socket_(proto::connect_to(path)) {}
  bool is_connected() const { return static_cast<bool>(socket_); }

  // The daemon's answer: "" for WELCOME, or an error's text.
  std::string say_hello() {
    flatbuffers::FlatBufferBuilder builder;
    const UniqueFd self = proto::open_pidfd(getpid());
    const int fds[] = {self.get()};
    const auto hello = proto::CreateHello(builder, 1, 1, 0, getpid());
    proto::send_message(socket_.get(), proto::finish(builder, proto::Body::Hello, hello), fds);
    const auto* message = hear();
    if (!message) return "it was cut off";
    if (message->body_as_Welcome()) return "";
    const auto* error = message->body_as_ErrorReply();
    return error ? std::string(proto::name_of(error->code())) + ": " + std::string(proto::text_of(error->message()))
                 : "something else";
  }
  // false: the socket is full, or the daemon has gone.
  bool ask(proto::Topic topic) {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = proto::CreateQuery(builder, 1, topic);
    return proto::send_message(socket_.get(), proto::finish(builder, proto::Body::Query, body)) == proto::IoStatus::kOk;
  }
  const proto::Message* hear() {
    for (;;) {  // each turn waits for the daemon
      const auto status = proto::receive_message(socket_.get(), received_);
      if (status == proto::IoStatus::kOk) return proto::parse(received_.bytes);
      pollfd watched{socket_.get(), POLLIN, 0};
      if (status != proto::IoStatus::kWouldBlock || poll(&watched, 1, 60'000) != 1) return nullptr;
    }
  }

 private:
  UniqueFd socket_;
  proto::Received received_;
};

// A daemon that everybody may use, and a dataset over which everybody may send specs.
class Node {
 public:
  explicit Node(const std::string& limits = "", int photos = 48) {
    chmod(data_.path().c_str(), 0755);
    make_photos(data_.path() / "photos", photos, 2, 16, 16);
    daemon = std::make_unique<DaemonProcess>("[socket]\nmode = \"0666\"\n[limits]\n" + limits +
                                             "\n[[data.roots]]\npath = \"" + data_.path().string() +
                                             "\"\nusers = [\"*\"]\n");
    chmod(daemon->dir().c_str(), 0755);
  }
  Job job(const std::string& group, int epochs = 1) const {
    PhotoSpec spec;
    spec.epochs = epochs;
    return {.socket = daemon->socket(), .spec = spec.toml(data_.path() / "photos"), .group = group};
  }
  // All pictures have as many bytes, behind their end.
  void grow_photos(uint64_t bytes) const {
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_.path() / "photos"))
      if (file.is_regular_file()) std::filesystem::resize_file(file.path(), bytes);
  }
  Json status() const { return Json::parse(query("status", "", daemon->socket().c_str())); }
  Json user(uid_t uid) const {
    const Json told = status();
    for (const auto& user : told["users"])
      if (user["uid"] == uid) return user;
    return nullptr;
  }

  std::unique_ptr<DaemonProcess> daemon;

 private:
  TempDir data_;
};

// Idle sessions of this user, as many as there are to be had. It tells how many, and why there are no more.
OtherUser take_sessions(const Node& node, uid_t uid, size_t wanted) {
  return OtherUser(uid, [&, wanted](Pipe&) {
    static std::vector<Visitor> held;
    for (size_t i = 0; i < wanted; i++) {
      Visitor visitor(node.daemon->socket());
      const std::string answer = visitor.is_connected() ? visitor.say_hello() : "not connected";
      if (!answer.empty()) return std::to_string(held.size()) + " sessions; " + answer;
      held.push_back(std::move(visitor));
    }
    return std::to_string(held.size()) + " sessions";
  });
}

// Rings for one job after another, until the daemon refuses one.
OtherUser take_rings(const Node& node, uid_t uid) {
  return OtherUser(uid, [&](Pipe&) {
    static std::vector<Loader> held;
    try {
      while (held.size() < 200) {
        Job job = node.job("ring " + std::to_string(held.size()));
        job.timeout_ms = 3'000;  // it tries again meanwhile
        held.push_back(attach(job));
      }
    } catch (const Exception& e) {
      return std::to_string(held.size()) + " rings; " + spdld_result_name(e.result()) + ": " + e.what();
    }
    return std::to_string(held.size()) + " rings";
  });
}

size_t count_batches(const Job& job) {
  Loader loader = attach(job);
  return take_all(loader).size();
}

// For the daemons that begin meanwhile.
class OpenFilesLimit {
 public:
  explicit OpenFilesLimit(rlim_t files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{files, files};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  ~OpenFilesLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

}  // namespace

TEST_CASE("two users with all the sessions they can have shut out neither root nor, alone, each other") {
  if (!is_root()) return;
  const Node node("sessions_max = 200\nsessions_per_user_max = 120\n");
  const OtherUser greedy = take_sessions(node, kGreedy, 300);
  CHECK_THAT(greedy.said(), Contains("120 sessions; limit") && Contains("limits.sessions_per_user_max"));
  const OtherUser other = take_sessions(node, kOther, 300);
  CHECK_THAT(other.said(), Contains("sessions; limit") && Contains("limits.sessions_max"));
  const OtherUser third = take_sessions(node, kThird, 1);
  CHECK_THAT(third.said(), Contains("0 sessions; limit"));
  const Json status = node.status();  // in the reserve
  CHECK(status["limits"]["sessions_max"] == 200);
  CHECK(status["limits"]["sessions_reserve"] == 16);
  CHECK(node.user(kGreedy)["sessions"] == 120);
  CHECK(node.user(kGreedy)["refused"] >= 1);
  CHECK(node.user(kOther)["sessions"] >= 79);
}

TEST_CASE("one user's status shows no other user's part") {
  if (!is_root()) return;
  const Node node;
  const OtherUser other = take_sessions(node, kOther, 3);
  const OtherUser asks(
      kGreedy, [&](Pipe&) { return Json::parse(query("status", "", node.daemon->socket().c_str()))["users"].dump(); });
  const Json users = Json::parse(asks.said());
  REQUIRE(users.size() == 1);
  CHECK(users[0]["uid"] == kGreedy);
  CHECK(users[0]["limited"] == true);
}

TEST_CASE("one user's tiny rings end at the user's number of slots or of rings, and another user's trainer attaches") {
  if (!is_root()) return;
  SECTION("slots") {
    const Node node("slots_per_user_max = 60\n");
    const OtherUser greedy = take_rings(node, kGreedy);
    CHECK_THAT(greedy.said(), Contains("12 rings; SPDLD_LIMIT") && Contains("limits.slots_per_user_max"));
    CHECK(node.user(kGreedy)["slots"] == 60);
    const OtherUser other(kOther, [&](Pipe&) { return std::to_string(count_batches(node.job("other"))); });
    CHECK(other.said() == "12");
    CHECK(count_batches(node.job("root")) == 12);
  }
  SECTION("rings") {
    const Node node("rings_per_user_max = 7\n");
    OtherUser greedy = take_rings(node, kGreedy);
    CHECK_THAT(greedy.said(), Contains("7 rings; SPDLD_LIMIT") && Contains("limits.rings_per_user_max"));
    greedy.end();
    CHECK(soon([&] { return node.user(kGreedy)["rings"] == 0; }));
    const OtherUser again = take_rings(node, kGreedy);
    CHECK_THAT(again.said(), Contains("7 rings;"));
  }
}

TEST_CASE("rings end before the daemon's open files do, and a trainer that reads goes on") {
  if (!is_root()) return;
  std::unique_ptr<Node> node;
  {
    const OpenFilesLimit limit(256);
    node = std::make_unique<Node>("slots_per_user_max = 4096\nrings_per_user_max = 4096\n");
  }
  CHECK(node->status()["limits"]["slot_files_max"] == 128);
  CHECK(node->status()["limits"]["sessions_max"] == 32);
  Pipe enough;
  OtherUser trainer(kOther, [&](Pipe& told) {
    Loader loader = attach(node->job("trains", 0));
    told.write("attached\n");
    pollfd watched{enough.reader(), POLLIN, 0};
    while (poll(&watched, 1, 0) == 0) take_all(loader, 1);
    size_t batches = 0;  // with all descriptors taken
    while (batches < 60) batches += take_all(loader, 1).size();
    return std::to_string(batches) + " batches";
  });
  CHECK(trainer.said() == "attached");
  const OtherUser greedy = take_rings(*node, kGreedy);
  CHECK_THAT(greedy.said(), Contains("24 rings; SPDLD_LIMIT") && Contains("limit of open files"));
  enough.write("x");
  CHECK(trainer.read_line() == "60 batches");
  CHECK(node->user(kGreedy)["rings"] == 24);
}

TEST_CASE("queries beyond the rate wait and are answered, and others are answered meanwhile") {
  if (!is_root()) return;
  const Node node("queries_per_user_s_max = 50\n");
  const auto begin = std::chrono::steady_clock::now();
  OtherUser greedy(kGreedy, [&](Pipe& told) {
    std::vector<Visitor> visitors;
    for (int i = 0; i < 4; i++) {
      visitors.emplace_back(node.daemon->socket());
      if (!visitors.back().say_hello().empty()) return std::string("no session");
      for (int n = 0; n < 40; n++)
        if (!visitors.back().ask(proto::Topic::status)) return std::string("the socket is full");
    }
    told.write("asked\n");
    int answers = 0;
    for (auto& visitor : visitors)
      for (int n = 0; n < 40; n++) answers += visitor.hear() != nullptr;
    return std::to_string(answers) + " answers";
  });
  CHECK(greedy.said() == "asked");
  const OtherUser trainer(kOther, [&](Pipe&) { return std::to_string(count_batches(node.job("trains", 5))); });
  CHECK(trainer.said() == "60");
  const Json user = node.user(kGreedy);
  const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
  CHECK(user["queries"].get<double>() <= 50 + 50 * elapsed.count() + 4);  // each session reads one to know that it asks
  CHECK(user["waits"] >= 1);
  CHECK(greedy.read_line() == "160 answers");  // none is lost
}

TEST_CASE("the samples that one user has in flight have a bound, and all arrive") {
  if (!is_root()) return;
  const Node node("inflight_bytes_per_user_max = \"4 MiB\"\n");
  node.grow_photos(1 << 20);
  const OtherUser greedy(kGreedy, [&](Pipe&) {
    static Loader loader = attach(node.job("greedy", 3));
    return std::to_string(take_all(loader).size());
  });
  CHECK(greedy.said() == "36");
  const Json user = node.user(kGreedy);
  CHECK(user["inflight_waits"] > 0);
  CHECK(user["inflight_bytes"] == 0);
  CHECK(node.status()["limits"]["inflight_bytes_per_user_max"] == 4 << 20);
  CHECK(count_batches(node.job("root", 3)) == 36);
  CHECK(node.user(0)["inflight_waits"] == 0);
}

TEST_CASE("a stopped trainer loses its place after limits.silent_ms_max, and goes on where it was when it wakes") {
  const Node node("silent_ms_max = 400\n");
  Pipe told, go;
  const pid_t stopped = in_child([&] {
    go.close_writer();
    Loader loader = attach(node.job("job"));
    auto first = loader.next(20'000);
    told.write("x");
    go.read_byte();
    std::vector<Seen> seen = {look(first.batch)};
    first.batch = {};
    for (const Seen& one : take_all(loader)) seen.push_back(one);
    for (size_t i = 0; i < seen.size(); i++)
      if (seen[i].step != i) return 1;
    return seen.size() == 12 ? 0 : 2;
  });
  told.close_writer();
  REQUIRE(told.read_byte());
  REQUIRE(kill(stopped, SIGSTOP) == 0);
  CHECK(soon([&] {
    const Json status = node.status();
    for (const auto& session : status["sessions"])
      if (session["pid"] == stopped) return false;
    return true;
  }));
  CHECK_THAT(node.daemon->log(), Contains("holds batches and has sent nothing"));
  CHECK(count_batches(node.job("job")) == 12);  // its rank is free
  REQUIRE(kill(stopped, SIGCONT) == 0);
  go.close_writer();
  CHECK(wait_for(stopped) == 0);
}

}  // namespace spdld::crowd_test
