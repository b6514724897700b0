// What crosses the border between a daemon and clients of other users: texts that are no names, and what one user hears
// of another. The strangers are real users: these tests run as root alone, and speak the raw protocol where a client
// would not.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/control/raw_client.h"
#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::border_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr uid_t kStranger = 12345, kOther = 12346;

// "" where all is well.
std::string failure_of(const Job& job) {
  try {
    const Loader loader = attach(job);
  } catch (const Exception& e) {
    return std::string(spdld_result_name(e.result())) + ": " + e.what();
  }
  return {};
}

// A node with named pipelines over photos: `open` is the stranger's and the other user's, `closed` nobody's but the
// operator's, and `alias` is a closed one whose file calls itself "open".
class Node {
 public:
  explicit Node(const std::string& more = "") {
    chmod(dir_.path().c_str(), 0755);
    make_photos(dir_.path() / "photos", 12, 2);
    std::filesystem::create_directory(dir_.path() / "pipelines");
    for (const char* name : {"open", "closed"}) write(name, name, 11);
    write("alias", "open", 12);
    dir_.write("pipelines/broken.toml", "name = \"broken\"\nhunter2 hunter2\n");
    daemon = std::make_unique<DaemonProcess>("[socket]\nmode = \"0666\"\n[pipelines]\ndir = \"" + path("pipelines") +
                                             "\"\n[pipelines.access.open]\nusers = [\"12345\", "
                                             "\"12346\"]\n[pipelines.access.broken]\nusers = [\"12345\"]\n" +
                                             more);
    chmod(daemon->dir().c_str(), 0755);
  }
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string socket() const { return daemon->socket(); }
  Job job(const std::string& pipeline, const std::string& group = "job") const {
    return {.socket = socket(), .pipeline = pipeline, .group = group};
  }
  Json ask(const char* topic, const char* argument = nullptr) const {
    return Json::parse(query(topic, argument, socket().c_str()));
  }
  void write(const std::string& file, const std::string& name, int seed) {
    PhotoSpec spec;
    spec.name = name, spec.seed = seed;
    dir_.write("pipelines/" + file + ".toml", spec.toml(path("photos")));
  }

  std::unique_ptr<DaemonProcess> daemon;

 private:
  TempDir dir_;
};

// Says HELLO with this name, and waits for the answer.
void say_hello(RawClient& client, const std::string& name) {
  const UniqueFd pidfd = proto::open_pidfd(getpid());
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(name);
  client.send(proto::finish(builder, proto::Body::Hello, proto::CreateHello(builder, 1, 1, text, getpid())),
              {pidfd.get()});
}

}  // namespace

TEST_CASE("a NUL in a pipeline's name opens nothing") {
  if (!is_root()) return;
  const Node node("[pipelines.access.\"*\"]\nusers = [\"*\"]\n[pipelines.access.closed]\nusers = []\n");
  CHECK(as_user(kStranger, [&] {
          RawClient client(node.socket());
          client.hello();
          client.send_attach(1, std::string("closed.toml\0", 12));
          const auto [code, text] = client.hear_error();
          return std::string(proto::name_of(code)) + " " + text;
        }).find("malformed ATTACH: the name of a pipeline must be") == 0);
}

TEST_CASE("a client's name forges no line of the log") {
  const Node node;
  RawClient client(node.socket());
  say_hello(client, "trainer\n2026-01-01T00:00:00.000 error FORGED\x1b[2J");
  CHECK(client.hear_error().first == proto::ErrorCode::malformed);
  client.hello();
  client.send_attach(1, "nothing", "group\nFORGED");
  CHECK(client.hear_error().first == proto::ErrorCode::malformed);
  client.send_query(2, proto::Topic::describe, "open\nFORGED");
  CHECK(client.hear_error().first == proto::ErrorCode::malformed);
  CHECK(soon([&] { return node.daemon->log().find("QUERY: the argument must be") != std::string::npos; }));
  CHECK_THAT(node.daemon->log(), !Contains("FORGED") && !Contains("\x1b[2J"));
}

TEST_CASE("a file's name forges no line of the log") {
  const Node node;
  const std::filesystem::path odd = node.path("photos") + "/odd\n2026-01-01T00:00:00.000 error FORGED";
  std::filesystem::create_directories(odd / "deep");
  std::ofstream(odd / "deep/picture.jpg") << std::string(2000, 'x');
  PhotoSpec spec;
  spec.on_bad = "fail";
  Loader loader = attach({.socket = node.socket(), .spec = spec.toml(node.path("photos"))});
  CHECK_THROWS_AS(take_all(loader), Exception);  // the error names the file
  REQUIRE(soon([&] { return node.daemon->log().find("FORGED") != std::string::npos; }));
  CHECK_THAT(node.daemon->log(), Contains("\\x0a2026-01-01T00:00:00.000 error FORGED") && !Contains("\n2026-01-01"));
}

TEST_CASE("a pipeline that a user may not use, and a pipeline that is not there, get one answer") {
  if (!is_root()) return;
  const Node node;
  const auto answer = [&](const std::string& name) {
    std::string text = as_user(kStranger, [&] { return failure_of(node.job(name)); });
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) text.replace(at, name.size(), "NAME");
    return text;
  };
  const std::string none = answer("absent");
  CHECK_THAT(none, Contains("SPDLD_NOT_FOUND: there is no pipeline 'NAME' here that user 12345 may use") &&
                       Contains("[pipelines.access.NAME]") && !Contains("/"));
  CHECK(answer("closed") == none);
  CHECK(answer("alias") == none);
  CHECK(answer("open") == "");
  const Loader own = attach(node.job("closed"));  // open or not, it makes no difference
  CHECK(answer("closed") == none);
  const auto asked = [&](const char* topic, const std::string& name) {
    return as_user(kStranger, [&]() -> std::string {
      try {
        return query(topic, name.c_str(), node.socket().c_str());
      } catch (const Exception& e) {
        return e.what();
      }
    });
  };
  for (const char* topic : {"describe", "errors", "samples"})
    CHECK(asked(topic, "closed") == "no pipeline 'closed' is open here: see spdlctl ls");
  CHECK_THAT(failure_of(node.job("absent")),
             Contains(node.path("pipelines")));  // the owner hears where it was looked for
}

TEST_CASE("access goes by the name of the pipeline's file, not by the name that the file gives itself") {
  if (!is_root()) return;
  const Node node;
  const Loader alias = attach(node.job("alias"));
  CHECK(as_user(kStranger, [&]() -> std::string {
          const Json listed = node.ask("list")["pipelines"];
          for (const Json& one : listed)
            if (one["state"] != "available") return one.dump();
          try {
            return node.ask("describe", "open").dump();
          } catch (const Exception& e) {
            return e.what();
          }
        }) == "pipeline 'open' is available, but nobody has opened it yet");
}

TEST_CASE("what a pipeline's file says does not come back to a user who may not read it") {
  if (!is_root()) return;
  const Node node;
  chmod(node.path("pipelines/broken.toml").c_str(), 0600);
  const std::string told = as_user(kStranger, [&] { return failure_of(node.job("broken")); });
  CHECK_THAT(told, Contains("SPDLD_INVALID: pipeline 'broken' can't be used now") && !Contains("hunter2") &&
                       !Contains("/") && !Contains("TOML"));
  CHECK_THAT(failure_of(node.job("broken")), Contains("pipelines/broken.toml:2: is not TOML"));
  CHECK_THAT(node.daemon->log(), Contains("pipelines/broken.toml:2: is not TOML"));
}

TEST_CASE("the lines of a list do not come back to a user who may not read it") {
  if (!is_root()) return;
  const Node node("[[data.roots]]\npath = \"/tmp\"\nusers = [\"12345\"]\n");
  std::ofstream(node.path("list")) << "root:hunter2:0\n";
  chmod(node.path("list").c_str(), 0600);
  const std::string list = "\"" + node.path("list") + "\"";
  for (const std::string& line : {"include = " + list, "exclude = " + list, "weights = " + list,
                                  "part = { fraction = 0.5, groups = " + list + " }"}) {
    PhotoSpec spec;
    spec.extra_order = line;
    const Job job{.socket = node.socket(), .spec = spec.toml(node.path("photos"))};
    CHECK_THAT(as_user(kStranger, [&] { return failure_of(job); }),
               Contains("list, line 1: ") && !Contains("hunter2") && !Contains("root:"));
  }
}

TEST_CASE("a user sees no other user's processes, groups and paths; root and their owner do") {
  if (!is_root()) return;
  const Node node;
  Pipe until, attached;
  const pid_t other = in_child([&] {
    if (!become(kOther)) return 50;
    until.close_writer();
    const Loader loader = attach(node.job("open", "others-group"));
    attached.write("x");
    until.read_byte();
    return 0;
  });
  attached.close_writer();
  REQUIRE(attached.read_byte());
  const Loader operators = attach(node.job("closed", "operators-group"));
  const std::string pid = std::to_string(other);

  const auto documents = [&] {
    return node.ask("status").dump() + node.ask("describe", "open").dump() + node.ask("errors").dump() +
           node.ask("list").dump();
  };
  const std::string seen = as_user(kStranger, documents);
  CHECK_THAT(seen, !Contains("others-group") && !Contains("operators-group") && !Contains(node.path("photos")) &&
                       !Contains("\"pid\":" + pid + ",") && !Contains("[" + pid + "]") && !Contains("closed"));
  const Json strangers = Json::parse(as_user(kStranger, [&] {
    const Loader own = attach(node.job("open", "own-group"));
    Json told, status;  // a user's answers are kept for a moment: the first may be from before
    soon([&] { return (told = node.ask("describe", "open"))["rings"].size() == 2; });
    soon([&] { return (status = node.ask("status"))["session_count"] == 4; });
    told["status"] = status;
    return told.dump();
  }));
  REQUIRE(strangers["rings"].size() == 2);
  CHECK(strangers["spec"]["source"]["uri"] == "...");
  CHECK(strangers["status"]["session_count"].get<int>() == 4);  // the loaders of three users, and this query
  CHECK(strangers["status"]["sessions"].size() == 2);
  for (const Json& session : strangers["status"]["sessions"]) CHECK(session["uid"] == kStranger);
  for (const Json& ring : strangers["rings"]) {
    CHECK(ring["group"] == (ring["uid"] == kStranger ? "own-group" : ""));
    CHECK(ring["pids"].size() == (ring["uid"] == kStranger ? 1 : 0));
  }

  const std::string own = as_user(kOther, documents);
  CHECK_THAT(own, Contains("others-group") && Contains("\"pid\":" + pid + ",") && !Contains("operators-group"));
  const std::string all = documents();
  CHECK_THAT(all, Contains("others-group") && Contains("\"pid\":" + pid + ",") && Contains("[" + pid + "]") &&
                      Contains(node.path("photos")));
  until.close_writer();
  CHECK(wait_for(other) == 0);
}

TEST_CASE("each count of bad samples says what it counts, and they agree") {
  const Node node;
  for (int i = 0; i < 4; i++)
    std::ofstream(node.path("photos") + "/class-0/bad-" + std::to_string(i) + ".jpg") << "no picture";
  PhotoSpec spec;
  spec.epochs = 3;
  spec.extra = "bad_max = 1000";
  Loader loader = attach({.socket = node.socket(), .spec = spec.toml(node.path("photos"))});
  CHECK(take_all(loader).size() == 12);
  const Json bad = node.ask("describe", "photos")["bad"], errors = node.ask("errors", "photos");
  const uint64_t found = errors["total"];
  CHECK(found == bad["damaged"].get<uint64_t>() + bad["unsupported"].get<uint64_t>());
  CHECK(errors["substituted"] == bad["substituted"]);
  CHECK(errors["masked"] == bad["masked"]);
  CHECK(errors["substituted"] == 12);  // four bad samples in each of three epochs
  uint64_t times = 0;
  for (const Json& error : errors["errors"]) times += error["count"].get<uint64_t>();
  CHECK(times == found);
  CHECK(found >= 12);  // and substitutes that were bad themselves
  const Json listed = node.ask("list")["pipelines"];
  for (const Json& one : listed)
    if (one["name"] == "photos") CHECK(one["bad"] == found);
}

TEST_CASE("a daemon that is stopped for a while, and its backlog full: clients wait within their time") {
  const Node node;
  REQUIRE(kill(node.daemon->pid(), SIGSTOP) == 0);
  const auto go_on = [&](int* stopped) { kill(*stopped, SIGCONT); };
  int stopped = node.daemon->pid();
  const std::unique_ptr<int, decltype(go_on)> goes_on(&stopped, go_on);  // whatever fails below
  std::vector<UniqueFd> waiting;
  while (UniqueFd one = proto::connect_to(node.socket())) waiting.push_back(std::move(one));
  CHECK(errno == EAGAIN);
  const auto asked = [&](int64_t timeout_ms) -> spdld_result {
    char* json = nullptr;
    const spdld_result result = spdld_query(node.socket().c_str(), "ping", nullptr, timeout_ms, &json);
    spdld_free(json);
    return result;
  };
  CHECK(asked(100) == SPDLD_TIMEOUT);
  CHECK_THROWS_AS(query("ping", nullptr, node.socket().c_str(), 100), Exception);
  Job job = node.job("open");
  job.timeout_ms = 100, job.reconnect_ms = -1;
  CHECK_THAT(failure_of(job), Contains("SPDLD_TIMEOUT: ") && Contains("many clients connect"));
  std::vector<spdld_result> results(20, SPDLD_INTERNAL);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = asked(60'000); });
  waiting.clear();
  REQUIRE(kill(node.daemon->pid(), SIGCONT) == 0);
  for (std::thread& thread : threads) thread.join();
  for (const spdld_result result : results) CHECK(result == SPDLD_OK);
}

}  // namespace spdld::border_test
