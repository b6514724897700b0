#include <fstream>

#include "tests/client/session.h"

namespace spdld::attach_test {

using namespace spdld;
using namespace spdld::test;

namespace {

spdld_result attach_result(const spdld_attach_options& options) {
  spdld_loader* loader = nullptr;
  const spdld_result result = spdld_attach(&options, &loader);
  CHECK((result == SPDLD_OK) == (loader != nullptr));
  spdld_detach(loader);
  return result;
}

std::string last_error() { return spdld_last_error(); }

spdld_result attach_to(FakeScript script) {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), std::move(script));
  const std::string socket = folder.socket();
  return attach_result(options_for(socket));
}

}  // namespace

TEST_CASE("attach says what it got") {
  Attached attached;
  const spdld_info info = info_of(attached.loader);
  CHECK(std::string(info.pipeline) == "p");
  CHECK(std::string(info.fingerprint) == "f1");
  CHECK(std::string(info.daemon) == "fake 1");
  CHECK(std::string(info.group) == "g");
  CHECK(info.rank == 0);
  CHECK(info.world_size == 1);
  CHECK(info.batch_size == 4);
  CHECK(info.samples == 20);
  CHECK(info.steps_per_epoch == 5);
  CHECK(info.epochs == 2);
  CHECK(info.seed == 17);
  CHECK(info.slot_count == 3);
  CHECK(info.slot_bytes == 4096);
  CHECK(info.writable == 1);
  const FakeCounts counts = attached.daemon.counts();
  CHECK(counts.pidfds == 1);
  CHECK(counts.last_client == "libspdld " + std::string(spdld_version()) + " (c)");
}

TEST_CASE("a protocol version that is not common is named") {
  FakeScript script;
  script.version = 9;
  CHECK(attach_to(script) == SPDLD_VERSION);
  CHECK(last_error().find("protocol 9") != std::string::npos);
  script.version = 0;
  CHECK(attach_to(script) == SPDLD_VERSION);
  script = {};
  script.hello_error = proto::ErrorCode::version;
  CHECK(attach_to(script) == SPDLD_VERSION);
}

TEST_CASE("every refusal of the daemon has its own result and keeps its words") {
  const std::pair<proto::ErrorCode, spdld_result> expected[] = {
      {proto::ErrorCode::malformed, SPDLD_INTERNAL},      {proto::ErrorCode::unexpected, SPDLD_INTERNAL},
      {proto::ErrorCode::denied, SPDLD_DENIED},           {proto::ErrorCode::not_found, SPDLD_NOT_FOUND},
      {proto::ErrorCode::invalid, SPDLD_INVALID},         {proto::ErrorCode::limit, SPDLD_LIMIT},
      {proto::ErrorCode::conflict, SPDLD_CONFLICT},       {proto::ErrorCode::changed, SPDLD_CHANGED},
      {proto::ErrorCode::unsupported, SPDLD_UNSUPPORTED}, {proto::ErrorCode::failed, SPDLD_FAILED},
      {proto::ErrorCode::internal, SPDLD_INTERNAL},       {proto::ErrorCode::version, SPDLD_VERSION},
      {proto::ErrorCode::spec_refused, SPDLD_DENIED}};
  for (const auto& [code, result] : expected) {
    FakeScript script;
    script.attach_error = code;
    CHECK(attach_to(script) == result);
    CHECK(last_error() == "attach was refused");
  }
}

TEST_CASE("a daemon that is just stopping is tried again") {
  FakeScript script;
  script.attach_error = proto::ErrorCode::stopping;
  script.attach_errors = 2;
  CHECK(attach_to(script) == SPDLD_OK);
}

TEST_CASE("slots that could break this process are refused") {
  FakeScript script;
  SECTION("unsealed") { script.seals_slots = false; }
  SECTION("smaller than said") { script.slot_file_bytes = 4095; }
  SECTION("one too few") { script.forgets_a_slot = true; }
  SECTION("none") { script.slot_count = 0; }
  SECTION("no steps") { script.steps_per_epoch = 0; }
  CHECK(attach_to(script) == SPDLD_INTERNAL);
  CHECK(last_error().find("broke the protocol") != std::string::npos);
}

TEST_CASE("batches of another size than was asked for are refused") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.batch_size = 8;
  CHECK(attach_result(options) == SPDLD_INTERNAL);
  CHECK(last_error().find("another size than ATTACH asked for") != std::string::npos);
  options.batch_size = 4;
  CHECK(attach_result(options) == SPDLD_OK);
}

TEST_CASE("a kind of memory that is not known is refused") {
  FakeScript script;
  script.memory = static_cast<proto::MemoryKind>(4);
  CHECK(attach_to(script) == SPDLD_UNSUPPORTED);
}

TEST_CASE("attach ends in its time when the daemon never answers") {
  FakeScript script;
  SECTION("HELLO") { script.answers_hello = false; }
  SECTION("ATTACH") { script.answers_attach = false; }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.timeout_ms = 150;
  const Stopwatch stopwatch;
  CHECK(attach_result(options) == SPDLD_TIMEOUT);
  CHECK(stopwatch.ms() >= 150);
  CHECK(stopwatch.ms() < 3000);
}

TEST_CASE("attach tells of the listing, and can be given up") {
  FakeScript script;
  script.preparing = 3;
  script.answers_attach = true;
  CHECK(attach_to(script) == SPDLD_OK);

  script.answers_attach = false;
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  int calls = 0;
  options.progress_user = &calls;
  options.progress = [](void* user, const char*, uint64_t, uint64_t) {
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  CHECK(attach_result(options) == SPDLD_INTERRUPTED);
  CHECK(calls == 2);
}

TEST_CASE("what the daemon says it does can't steer a terminal") {
  struct Heard {
    std::string what;
    uint64_t done = 0, total = 0;
  } heard;
  FakeScript script;
  script.preparing = 3;
  script.preparing_what = "listing \033[2Jpictures\n\x7f";
  script.answers_attach = false;
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.progress_user = &heard;
  options.progress = [](void* user, const char* what, uint64_t done, uint64_t total) {
    *static_cast<Heard*>(user) = {what, done, total};
    return done == 2 ? 1 : 0;
  };
  CHECK(attach_result(options) == SPDLD_INTERRUPTED);
  CHECK(heard.what == "listing \\x1b[2Jpictures\\x0a\\x7f");
  CHECK(heard.done == 2);
  CHECK(heard.total == 10);

  options.progress = nullptr;
  options.timeout_ms = 100;
  CHECK(attach_result(options) == SPDLD_TIMEOUT);
  CHECK_THAT(last_error(), Catch::Contains("still listing \\x1b[2Jpictures\\x0a\\x7f (2 of 10)"));
}

TEST_CASE("without a daemon attach fails at once and names the socket") {
  Folder folder;
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  CHECK(attach_result(options) == SPDLD_NO_DAEMON);
  CHECK(last_error().find(socket) != std::string::npos);
  const Variable variable("SPDLD_SOCKET", (socket + "2").c_str());
  options.socket = nullptr;
  CHECK(attach_result(options) == SPDLD_NO_DAEMON);
  CHECK(last_error().find(socket + "2") != std::string::npos);
}

TEST_CASE("wrong arguments are said before anything is sent") {
  Folder folder;
  const std::string socket = folder.socket();
  const spdld_attach_options good = options_for(socket);
  const auto invalid = [&](auto&& change) {
    spdld_attach_options options = good;
    change(options);
    CHECK(attach_result(options) == SPDLD_INVALID);
    CHECK_FALSE(last_error().empty());
  };
  invalid([](auto& options) { options.struct_size = 0; });
  invalid([](auto& options) { options.pipeline = nullptr; });
  invalid([](auto& options) { options.spec = "x"; });
  invalid([](auto& options) { options.rank = 1; });
  invalid([](auto& options) { options.reader = 1; });
  invalid([](auto& options) { options.world_size = 0, options.rank = 1; });
  const std::string long_group(129, 'g');
  invalid([&](auto& options) { options.group = long_group.c_str(); });
  CHECK(spdld_attach(nullptr, nullptr) == SPDLD_INVALID);
  spdld_loader* loader = nullptr;
  CHECK(spdld_attach(nullptr, &loader) == SPDLD_INVALID);
}

TEST_CASE("an older caller's structure is enough, and a newer caller's unknown option is refused") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  struct Older {
    size_t struct_size;
    const char* socket;
    const char* pipeline;
    char canary[sizeof(spdld_attach_options)];
  } older = {offsetof(Older, canary), socket.c_str(), "p", {}};
  std::fill(std::begin(older.canary), std::end(older.canary), '\x7f');
  CHECK(attach_result(*reinterpret_cast<const spdld_attach_options*>(&older)) == SPDLD_OK);

  struct Newer {
    spdld_attach_options options;
    uint64_t unknown;
  } newer = {options_for(socket), 0};
  newer.options.struct_size = sizeof newer;
  CHECK(attach_result(newer.options) == SPDLD_OK);
  newer.unknown = 1;
  CHECK(attach_result(newer.options) == SPDLD_UNSUPPORTED);

  const Loader loader = attach(options_for(socket));
  spdld_info info;
  std::memset(&info, 0x7f, sizeof info);
  info.struct_size = offsetof(spdld_info, rank);
  REQUIRE(spdld_get_info(loader.get(), &info) == SPDLD_OK);
  CHECK(std::string(info.group) == "g");
  CHECK(info.rank == 0x7f7f7f7f);  // beyond what the caller said it has
}

TEST_CASE("a spec travels as text, in a memfd when it is long, with its folder") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), {});
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  options.pipeline = nullptr;
  const std::string large = "# " + std::string(200'000, 'x');
  for (const std::string& spec : {std::string("name = 1"), large}) {
    options.spec = spec.c_str();
    options.spec_folder = "/some/../folder";
    REQUIRE(attach_result(options) == SPDLD_OK);
    CHECK(daemon.counts().last_spec == spec);
    CHECK(daemon.counts().last_folder == "/folder");
  }
  std::ofstream(folder.path() + "/a.toml") << "name = \"a\"\n";
  options.spec = nullptr;
  const std::string file = folder.path() + "/a.toml";
  options.pipeline = file.c_str();
  REQUIRE(attach_result(options) == SPDLD_OK);
  CHECK(daemon.counts().last_spec == "name = \"a\"\n");
  CHECK(daemon.counts().last_folder == folder.path());
  const std::string absent = folder.path() + "/b.toml";
  options.pipeline = absent.c_str();
  CHECK(attach_result(options) == SPDLD_NOT_FOUND);
  CHECK(last_error().find(absent) != std::string::npos);
}

TEST_CASE("a query gives its document, small or large, and its refusal") {
  FakeScript script;
  SECTION("small") {}
  SECTION("large") {
    script.answer_in_fd = true;
    script.answer_json = "[\"" + std::string(300'000, 'a') + "\"]";
  }
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  char* json = nullptr;
  REQUIRE(spdld_query(folder.socket().c_str(), "ping", nullptr, 5000, &json) == SPDLD_OK);
  CHECK(std::string(json) == script.answer_json);
  spdld_free(json);
  CHECK(spdld_query(folder.socket().c_str(), "pong", nullptr, 5000, &json) == SPDLD_INVALID);
  CHECK(spdld_query((folder.socket() + "2").c_str(), "ping", nullptr, 5000, &json) == SPDLD_NO_DAEMON);
}

TEST_CASE("a query ends in its time when the daemon never answers") {
  FakeScript script;
  script.answers_query = false;
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  char* json = nullptr;
  const Stopwatch stopwatch;
  CHECK(spdld_query(folder.socket().c_str(), "ping", nullptr, 100, &json) == SPDLD_TIMEOUT);
  CHECK(json == nullptr);
  CHECK(stopwatch.ms() < 3000);
}

}  // namespace spdld::attach_test
