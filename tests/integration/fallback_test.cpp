// A user whose spec the system's daemon does not take. The system's socket stands in a mount namespace of the test's
// own, in which nobody else's daemon is seen; its user is a real one. For root alone.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::fallback_test {

using namespace spdld;
using namespace spdld::test;
using Json = nlohmann::json;

namespace {

constexpr uid_t kStranger = 12345;
const std::string kRun = "/run/user";  // of the namespace
const std::string kPrivate = kRun + "/spdld-" + std::to_string(kStranger) + "/private.sock";

// This process alone sees another /run from here on: the system's socket in it leads to `socket`.
bool enter_own_run(const std::string& socket) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (mount("none", "/run", "tmpfs", 0, "mode=0755") != 0) return false;
  std::filesystem::create_directory("/run/spdld");
  std::filesystem::create_symlink(socket, "/run/spdld/spdld.sock");
  std::filesystem::create_directory(kRun);
  std::filesystem::copy_file(SPDLD_DAEMON_BUILT, "/run/private-spdld");  // where it was built may be closed to others
  return chown(kRun.c_str(), kStranger, kStranger) == 0;
}

bool become_stranger() {
  setenv("XDG_RUNTIME_DIR", kRun.c_str(), 1);
  setenv("XDG_CACHE_HOME", kRun.c_str(), 1);
  setenv("SPDLD_DAEMON", "/run/private-spdld", 1);
  unsetenv("SPDLD_SOCKET");
  return become(kStranger);
}

void note(void* sentences, const char* sentence) {
  static_cast<std::vector<std::string>*>(sentences)->emplace_back(sentence);
}

// An attach that looks for its daemon by itself.
struct Attempt {
  std::string spec = {}, pipeline = {}, socket = {};
  bool may_start = true;
  std::string group = "job";
  std::vector<std::string> warnings = {};

  // The daemon's pid; or a result and why.
  std::string attach(std::optional<Loader>& loader) {
    AttachOptions options;
    if (!spec.empty()) options.spec = spec.c_str();
    if (!pipeline.empty()) options.pipeline = pipeline.c_str();
    if (!socket.empty()) options.socket = socket.c_str();
    options.group = group.c_str();
    options.world_size = 1;
    options.timeout_ms = 60'000;
    options.no_private_daemon = may_start ? 0 : 1;
    options.warn = &note;
    options.warn_user = &warnings;
    try {
      loader.emplace(options);
    } catch (const Exception& e) {
      return std::string(spdld_result_name(e.result())) + ": " + e.what();
    }
    return "";
  }
};

// Ends the private daemon, however the test ends.
struct PrivateDaemon {
  ~PrivateDaemon() {
    try {
      kill(Json::parse(query("ping", nullptr, kPrivate.c_str()))["pid"], SIGTERM);
    } catch (const std::exception&) {  // there is none
    }
  }
};

#define DEMAND(condition) \
  if (!(condition)) return std::string("line ") + std::to_string(__LINE__) + ": not " #condition

// Runs as the stranger, beside the system's daemon. It gives "" where all is well.
std::string beside(const DaemonProcess& system_daemon, const std::function<std::string()>& what) {
  Pipe told;
  const pid_t child = in_child([&] {
    if (!enter_own_run(system_daemon.socket())) return 77;
    if (!become_stranger()) return 50;
    const PrivateDaemon ends;
    told.write(what());
    return 0;
  });
  told.close_writer();
  const std::string text = told.read_all();
  const int code = wait_for(child);
  if (code == 77) WARN("not tried: this place lets nobody make a mount namespace");
  return code == 0 || code == 77 ? text : "exit code " + std::to_string(code) + " " + text;
}

// The system's daemon, with photos for all, and its stranger's pipeline over them.
struct SystemDaemon {
  explicit SystemDaemon(const std::string& settings = "") : daemon("[socket]\nmode = \"0666\"\n" + settings) {
    chmod(daemon.dir().c_str(), 0755);
    make_photos(daemon.dir() / "photos", 12, 2);
    spec = PhotoSpec{}.toml(daemon.dir() / "photos");
  }
  DaemonProcess daemon;
  std::string spec;
};

bool holds(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a spec that the system's daemon does not take goes to a private daemon, and the caller is told once") {
  if (!is_root()) return;
  const SystemDaemon node;
  CHECK(beside(node.daemon, [&]() -> std::string {
          std::optional<Loader> first, second;
          Attempt attempt{.spec = node.spec};
          std::string failure = attempt.attach(first);
          if (!failure.empty()) return failure;
          DEMAND(attempt.warnings.size() == 1);
          DEMAND(holds(attempt.warnings[0], "this user's private daemon at " + kPrivate + " serves this job"));
          DEMAND(holds(attempt.warnings[0], "user 12345 may not send specs to this spdld"));
          DEMAND(take_all(*first).size() == 3);
          DEMAND(Json::parse(query("status", nullptr, kPrivate.c_str()))["private"] == true);
          Attempt again{.spec = node.spec, .group = "other"};
          failure = again.attach(second);
          if (!failure.empty()) return failure;
          DEMAND(again.warnings.empty());
          return "";
        }) == "");
}

TEST_CASE("nobody is sent to a private daemon who named a pipeline or a socket, or wants none") {
  if (!is_root()) return;
  const SystemDaemon node;
  CHECK(beside(node.daemon, [&]() -> std::string {
          std::optional<Loader> loader;
          for (Attempt attempt : {Attempt{.pipeline = "train"}, Attempt{.spec = node.spec, .may_start = false},
                                  Attempt{.spec = node.spec, .socket = "/run/spdld/spdld.sock"}}) {
            const std::string failure = attempt.attach(loader);
            DEMAND(holds(failure, attempt.spec.empty() ? "SPDLD_NOT_FOUND" : "SPDLD_DENIED"));
            DEMAND(attempt.warnings.empty());
          }
          setenv("SPDLD_SOCKET", "/run/spdld/spdld.sock", 1);
          DEMAND(holds(Attempt{.spec = node.spec}.attach(loader), "SPDLD_DENIED"));
          DEMAND(!std::filesystem::exists(kPrivate));
          return "";
        }) == "");
}

TEST_CASE("a spec that is wrong, or a quota that is reached, is no reason for a private daemon") {
  if (!is_root()) return;
  const SystemDaemon node(
      "[limits]\nslot_bytes_max = \"1 MiB\"\n[[data.roots]]\npath = \"/\"\n[[data.roots]]\npath = \"" +
      std::filesystem::temp_directory_path().string() + "\"\nusers = [\"12345\"]\n");
  CHECK(beside(node.daemon, [&]() -> std::string {
          std::optional<Loader> loader;
          PhotoSpec large;
          large.batch_size = 200;
          DEMAND(Attempt{.spec = node.spec}.attach(loader) == "");
          loader.reset();
          DEMAND(holds(Attempt{.spec = large.toml(node.daemon.dir() / "photos")}.attach(loader), "SPDLD_LIMIT"));
          DEMAND(holds(Attempt{.spec = "name = 3\n" + node.spec}.attach(loader), "SPDLD_INVALID"));
          DEMAND(
              holds(Attempt{.spec = PhotoSpec{}.toml(node.daemon.dir() / "none")}.attach(loader), "SPDLD_NOT_FOUND"));
          DEMAND(!std::filesystem::exists(kPrivate));
          return "";
        }) == "");
}

TEST_CASE("where the private daemon can't be had either, both reasons are told") {
  if (!is_root()) return;
  const SystemDaemon node;
  CHECK(beside(node.daemon, [&]() -> std::string {
          setenv("SPDLD_DAEMON", "/nowhere/spdld", 1);
          std::optional<Loader> loader;
          Attempt attempt{.spec = node.spec};
          const std::string failure = attempt.attach(loader);
          DEMAND(holds(failure, "SPDLD_NO_DAEMON: user 12345 may not send specs"));
          DEMAND(holds(failure, "and a private daemon cannot take it: "));
          DEMAND(holds(failure, "/nowhere/spdld"));
          DEMAND(attempt.warnings.empty());
          return "";
        }) == "");
}

TEST_CASE("a job whose daemon comes back without its root goes on with a private daemon") {
  if (!is_root()) return;
  const std::string socket = "[socket]\nmode = \"0666\"\n";
  SystemDaemon node("[[data.roots]]\npath = \"" + std::filesystem::temp_directory_path().string() +
                    "\"\nusers = [\"12345\"]\n");
  Pipe attached, restarted;
  const pid_t trainer = in_child([&] {
    if (!enter_own_run(node.daemon.socket())) return 77;
    if (!become_stranger()) return 50;
    const PrivateDaemon ends;
    std::optional<Loader> loader;
    // More steps than the killed daemon has filled already.
    Attempt attempt{.spec = PhotoSpec{.epochs = 20}.toml(node.daemon.dir() / "photos")};
    if (!attempt.attach(loader).empty() || !attempt.warnings.empty()) return 1;
    if (take_all(*loader, 1).size() != 1) return 2;
    attached.write("x");
    restarted.close_writer();
    restarted.read_byte();
    const std::vector<Seen> rest = take_all(*loader);
    if (rest.size() != 20 * 3 - 1 || rest[0].step != 1) return 3;
    return Json::parse(query("status", nullptr, kPrivate.c_str()))["private"] == true ? 0 : 4;
  });
  attached.close_writer();
  if (attached.read_byte()) {
    node.daemon.stop(SIGKILL);
    node.daemon.rewrite_settings(socket);
    node.daemon.start();
  }
  restarted.close_writer();
  const int code = wait_for(trainer);
  if (code != 77) CHECK(code == 0);
}

}  // namespace spdld::fallback_test
