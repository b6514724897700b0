// Many clients at once, and daemons that say GOODBYE in the middle of something.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/client/session.h"

namespace spdld::crowd_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

// All that wait go on at once.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

void allow_many_descriptors() {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

struct Told {
  spdld_result result = SPDLD_OK;
  std::string text;
};

Told try_attach(const spdld_attach_options& options) {
  spdld_loader* loader = nullptr;
  const spdld_result result = spdld_attach(&options, &loader);
  const Loader held(loader);
  return {result, result == SPDLD_OK ? "" : spdld_last_error()};
}

Told try_query(const std::string& socket, int64_t timeout_ms = 5000) {
  char* json = nullptr;
  const spdld_result result = spdld_query(socket.c_str(), "ping", nullptr, timeout_ms, &json);
  spdld_free(json);
  return {result, result == SPDLD_OK ? "" : spdld_last_error()};
}

}  // namespace

TEST_CASE("300 clients at once get in where the daemon's backlog has room for one") {
  allow_many_descriptors();
  constexpr int kClients = 300;
  FakeScript script;
  script.backlog = 1;
  script.slot_count = 1;
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  Gate gate;
  std::vector<Told> told(kClients);
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i)
    threads.emplace_back([&, i] {
      spdld_attach_options options = options_for(socket);
      options.reconnect_ms = -1;  // a daemon that is away is not waited for, but this one is there
      options.timeout_ms = 60'000;
      gate.wait();
      told[static_cast<size_t>(i)] = i % 2 == 0 ? try_attach(options) : try_query(socket, 60'000);
    });
  gate.open();
  for (std::thread& thread : threads) thread.join();
  int in = 0;
  for (const Told& one : told) {
    in += one.result == SPDLD_OK ? 1 : 0;
    if (one.result != SPDLD_OK) CHECK(one.text == "");
  }
  CHECK(in == kClients);
}

TEST_CASE("a listener that accepts nobody is waited for as long as the caller has time") {
  Folder folder;
  const UniqueFd listener = proto::listen_at(folder.socket(), 0600);
  REQUIRE(listen(listener.get(), 1) == 0);
  std::vector<UniqueFd> waiting;
  while (UniqueFd one = proto::connect_to(folder.socket())) waiting.push_back(std::move(one));
  REQUIRE(errno == EAGAIN);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.timeout_ms = 100;
  options.reconnect_ms = -1;
  for (const Told& told : {try_attach(options), try_query(socket, 100)}) {
    CHECK(told.result == SPDLD_TIMEOUT);
    CHECK_THAT(told.text, Contains("many clients connect"));
  }
  const UniqueFd in_time = proto::connect_within(socket, 10);
  CHECK_FALSE(in_time);
  CHECK(errno == EAGAIN);

  std::thread late([&] {  // it gets in as soon as others have been accepted
    const UniqueFd connected = proto::connect_within(socket, 60'000);
    if (!connected) std::abort();
  });
  for (size_t i = 0; i <= waiting.size(); ++i) {
    pollfd entry{listener.get(), POLLIN, 0};
    REQUIRE(poll(&entry, 1, 20'000) == 1);
    const UniqueFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    CHECK(accepted);
  }
  late.join();
}

TEST_CASE("GOODBYE in answer to HELLO or ATTACH: the client attaches again, as to a daemon that restarts") {
  FakeScript script;
  script.attach_errors = 2;
  SECTION("HELLO") { script.hello_goodbye = true; }
  SECTION("ATTACH") { script.attach_goodbye = true; }
  const Attached attached(script);
  CHECK(number_of(next(attached.loader)) == 0);
}

TEST_CASE("GOODBYE and no return: the error is the daemon's word, and no time-out") {
  FakeScript script;
  SECTION("HELLO") { script.hello_goodbye = true; }
  SECTION("ATTACH") { script.attach_goodbye = true; }
  SECTION("ATTACH, and the next daemon does not answer") {
    script.attach_goodbye = true;
    script.answers_hellos = 1;
  }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.timeout_ms = 300;
  const Told told = try_attach(options);
  CHECK(told.result == SPDLD_NO_DAEMON);
  CHECK_THAT(told.text, Contains("shuts down: because the script says so") && Contains("did not come back"));
}

TEST_CASE("GOODBYE in answer to a query is said at once") {
  FakeScript script;
  SECTION("HELLO") { script.hello_goodbye = true; }
  SECTION("QUERY") { script.query_goodbye = true; }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const Told told = try_query(folder.socket());
  CHECK(told.result == SPDLD_NO_DAEMON);
  CHECK(told.text == "the daemon at " + folder.socket() + " shuts down: because the script says so");
}

TEST_CASE("a daemon's words are shown without what steers a terminal") {
  FakeScript script;
  script.attach_error = proto::ErrorCode::invalid;
  script.error_text = std::string("one\ntwo\x1b[2J\0three\xff\xc2\x9b", 20);
  {
    Folder folder;
    const FakeDaemon daemon(folder.socket(), script);
    const std::string socket = folder.socket();
    CHECK(try_attach(options_for(socket)).text == "one\ntwo\\x1b[2J\\x00three\\xff\\xc2\\x9b");
  }
  script = {};
  script.daemon = "fake\x1b[31m 2";
  script.missing = {"gone\n\x07"};
  const Attached attached(script);
  const spdld_info info = info_of(attached.loader);
  CHECK(std::string(info.daemon) == "fake\\x1b[31m 2");
}

TEST_CASE("names that a daemon can't have are a breach of the protocol") {
  FakeScript script;
  SECTION("a NUL in the pipeline") { script.pipeline = std::string("p\0q", 3); }
  SECTION("an end of a line in the pipeline") { script.pipeline = "p\n"; }
  SECTION("a very long pipeline") { script.pipeline.assign(65, 'p'); }
  SECTION("a NUL in the fingerprint") { script.fingerprint = std::string("f1\0", 3); }
  SECTION("a very long fingerprint") { script.fingerprint.assign(257, 'f'); }
  SECTION("a NUL in a source's name") { script.sources = {"a", std::string("b\0c", 3)}; }
  SECTION("a very long source's name") { script.sources = {"a", std::string(65, 'b')}; }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  const Told told = try_attach(options_for(socket));
  CHECK(told.result == SPDLD_INTERNAL);
  CHECK_THAT(told.text, Contains("broke the protocol"));
}

TEST_CASE("an answer with a NUL is none, since a C text ends there") {
  FakeScript script;
  script.answer_json = std::string("{}\0{}", 5);
  SECTION("small") {}
  SECTION("large") { script.answer_in_fd = true; }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  CHECK_THAT(try_query(folder.socket()).text, Contains("broke the protocol: an answer with a NUL"));
}

TEST_CASE("texts that no daemon takes are refused before they are sent") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  const auto refused = [&](const char* spdld_attach_options::*field, const std::string& text) {
    INFO(text);
    spdld_attach_options options = options_for(socket);
    if (field == &spdld_attach_options::spec_folder) options.pipeline = nullptr, options.spec = "name = \"a\"";
    options.*field = text.c_str();
    const Told told = try_attach(options);
    CHECK(told.result == SPDLD_INVALID);
    CHECK(told.text.find_first_of("\x1b\n") == std::string::npos);
  };
  for (const std::string text : {"a\nb", "a\x1b[m", "\xff", "a\xc2\x9b"}) {
    refused(&spdld_attach_options::group, text);
    refused(&spdld_attach_options::pipeline, text);
    refused(&spdld_attach_options::client_name, text);
    refused(&spdld_attach_options::fingerprint, text);
    refused(&spdld_attach_options::spec_folder, "/" + text);
  }
  refused(&spdld_attach_options::group, std::string(129, 'g'));
  refused(&spdld_attach_options::pipeline, "../p");
  refused(&spdld_attach_options::pipeline, std::string(65, 'p'));
  refused(&spdld_attach_options::client_name, std::string(257, 'c'));
  refused(&spdld_attach_options::fingerprint, std::string(257, 'f'));
  CHECK(daemon.counts().attaches == 0);
  char* json = nullptr;
  CHECK(spdld_query(socket.c_str(), "describe", "a\nb", 5000, &json) == SPDLD_INVALID);
}

}  // namespace spdld::crowd_test
