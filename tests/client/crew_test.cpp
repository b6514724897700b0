// What the library does where the daemon wants a crew, and the parts of a crew that are the library's.
#include <sys/wait.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/client/session.h"

namespace spdld::crew_test {

using namespace spdld;
using namespace spdld::test;

namespace {

// A crew that copies what it is told into a file, and shows what it is: its parent, its session, its descriptors.
struct Crew {
  explicit Crew(const std::string& folder) : told(folder + "/told"), shown(folder + "/shown") {
    script =
        "cat >\"$0.part\"; ps -o ppid= -o sid= -p $$ >\"$1\"; echo $$ >>\"$1\"; "
        // The shell has a descriptor for the folder while it reads the names, and none that is there after that.
        "for fd in /proc/$$/fd/*; do if [ -e \"$fd\" ]; then echo \"${fd##*/}\" >>\"$1\"; fi; done; "
        "mv \"$0.part\" \"$0\"";
    texts = {"/bin/sh", "-c", script.c_str(), told.c_str(), shown.c_str(), nullptr};
  }
  void give_to(spdld_attach_options& options) const {
    options.crew = texts.data();
    options.crew_input = input.data();
    options.crew_input_bytes = input.size();
  }
  // What the crew was told, once it is there.
  std::string await() const {
    for (int turn = 0; turn < 500; turn++) {
      std::ifstream file(told, std::ios::binary);
      if (file) return {std::istreambuf_iterator<char>(file), {}};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "nothing";
  }
  std::string told, shown, script, input = std::string("first\nsec\0nd", 12);
  std::vector<const char*> texts;
};

FakeScript wanting(uint64_t after = 0) {
  FakeScript script;
  script.crew_token = "secret";
  script.crew_after = after;
  return script;
}

}  // namespace

TEST_CASE("a crew that is wanted before the ring or later gets its token, the socket, and its input") {
  const uint64_t after = GENERATE(0, 2);
  Site site(wanting(after));
  const Crew crew(site.folder.path());
  crew.give_to(site.options);
  const test::Loader loader = attach(site.options);
  CHECK(site.daemon->counts().last_starts_crews);
  if (after > 0) CHECK(number_of(next(loader)) == 0);
  if (after > 0) CHECK(number_of(next(loader)) == 1);
  if (after > 0) CHECK(number_of(next(loader)) == 2);
  CHECK(crew.await() == "secret\n" + site.socket + "\n" + crew.input);
}

TEST_CASE("a crew may get more than a text of the protocol holds") {
  Site site(wanting());
  Crew crew(site.folder.path());
  crew.input.append(20u << 20, 'x');
  crew.give_to(site.options);
  const test::Loader loader = attach(site.options);
  const bool is_whole = crew.await() == "secret\n" + site.socket + "\n" + crew.input;
  CHECK(is_whole);
}

TEST_CASE("a crew is nobody's child, has a session of its own, and no descriptor but three") {
  Site site(wanting());
  const Crew crew(site.folder.path());
  crew.give_to(site.options);
  const test::Loader loader = attach(site.options);
  crew.await();
  CHECK(::waitpid(-1, nullptr, WNOHANG | __WALL) ==
        -1);  // this process has no child at all, not even a child that has ended
  CHECK(errno == ECHILD);
  std::ifstream file(crew.shown);
  long parent = 0, session = 0, pid = 0;
  file >> parent >> session >> pid;
  CHECK(parent != ::getpid());
  CHECK(session == pid);
  std::set<std::string> fds;
  for (std::string fd; file >> fd;) fds.insert(fd);
  CHECK(fds == std::set<std::string>{"0", "1", "2"});
}

TEST_CASE("a crew is started anew for a daemon that comes back") {
  Site site(wanting());
  const Crew crew(site.folder.path());
  crew.give_to(site.options);
  const test::Loader loader = attach(site.options);
  CHECK(number_of(next(loader)) == 0);
  crew.await();
  std::filesystem::remove(crew.told);
  site.begin(wanting());
  for (int64_t number = 1; number < 5; number++) CHECK(number_of(next(loader)) == number);
  CHECK(crew.await() != "nothing");
}

TEST_CASE("a crew that can't be started fails the loader with one sentence") {
  const uint64_t after = GENERATE(0, 1);
  Site site(wanting(after));
  const char* const command[] = {"/nowhere/python", nullptr};
  site.options.crew = command;
  spdld_loader* made = nullptr;
  const spdld_result result = spdld_attach(&site.options, &made);
  const test::Loader loader(made);
  const std::string sentence =
      "cannot start /nowhere/python, which is to run the pipeline's Python operations: No such file or directory";
  if (after == 0) {
    CHECK(result == SPDLD_FAILED);
    CHECK(spdld_last_error() == sentence);
    return;
  }
  REQUIRE(result == SPDLD_OK);
  spdld_result last = SPDLD_OK;
  for (int turn = 0; turn < 5 && last == SPDLD_OK; turn++) {
    spdld_batch* batch = nullptr;
    last = spdld_next(loader.get(), 5000, &batch);
    test::Batch(batch).reset();
  }
  CHECK(last == SPDLD_FAILED);
  CHECK(spdld_last_error() == sentence);
}

TEST_CASE("a client without a crew says so, and hears no wish for one") {
  Site site(wanting());
  const test::Loader loader = attach(site.options);
  CHECK_FALSE(site.daemon->counts().last_starts_crews);
  CHECK(number_of(next(loader)) == 0);
}

TEST_CASE("a token that can't be a line breaks the protocol") {
  FakeScript script;
  script.crew_token = "two\nlines";
  Site site(script);
  const Crew crew(site.folder.path());
  crew.give_to(site.options);
  spdld_loader* made = nullptr;
  CHECK(spdld_attach(&site.options, &made) == SPDLD_INTERNAL);
  CHECK_FALSE(std::filesystem::exists(crew.told));
}

TEST_CASE("a crew's options that make no sense are refused") {
  Site site;
  const char* const none[] = {nullptr};
  const char* const empty[] = {"", nullptr};
  const auto refused = [&](auto change, const std::string& words) {
    spdld_attach_options options = site.options;
    change(options);
    spdld_loader* made = nullptr;
    CHECK(spdld_attach(&options, &made) == SPDLD_INVALID);
    CHECK(std::string(spdld_last_error()).find(words) != std::string::npos);
  };
  refused([&](auto& options) { options.crew = none; }, "crew names no program");
  refused([&](auto& options) { options.crew = empty; }, "crew names no program");
  refused([&](auto& options) { options.crew_input = "x"; }, "crew_input is given without crew");
  refused([&](auto& options) { options.crew_input_bytes = 1; }, "crew_input_bytes is given without");
}

}  // namespace spdld::crew_test
