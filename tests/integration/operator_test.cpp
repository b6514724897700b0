// What the operator of a shared daemon sets: named pipelines, who may use them, limits, reload, stop.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/other_user.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"

namespace spdld::operator_test {

using namespace spdld;
using namespace spdld::test;
using Catch::Contains;

namespace {

constexpr uid_t kStranger = 12345;

// The same as another user, in a process of its own: 0 where the result is the one expected and the text holds `words`.
int as_stranger(const Job& job, spdld_result expected, const std::string& words) {
  return wait_for(in_child([&] {
    if (setgid(kStranger) != 0 || setuid(kStranger) != 0) return 50;
    const AttachOutcome outcome = try_attach(job);
    if (outcome.result != expected) std::fprintf(stderr, "%d: %s\n", outcome.result, outcome.text.c_str());
    return outcome.result == expected && outcome.text.find(words) != std::string::npos ? 0 : 1;
  }));
}

void wait_for_log(const DaemonProcess& daemon, const std::string& words) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (daemon.log().find(words) == std::string::npos) {
    if (std::chrono::steady_clock::now() > until) FAIL("the log never says: " << words);
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("named pipelines: those whom the operator allows may use them, and specs of strangers are refused") {
  TempDir dir;
  chmod(dir.path().c_str(), 0755);
  make_photos(dir.path() / "photos", 12, 2);
  for (const char* name : {"open", "closed"}) {
    PhotoSpec spec;
    spec.name = name;
    std::filesystem::create_directories(dir.path() / "pipelines");
    std::ofstream(dir.path() / "pipelines" / (std::string(name) + ".toml")) << spec.toml(dir.path() / "photos");
  }
  DaemonProcess daemon("[socket]\nmode = \"0666\"\n[pipelines]\ndir = \"" + (dir.path() / "pipelines").string() +
                       "\"\n[pipelines.access.open]\nusers = [\"" + std::to_string(kStranger) + "\"]\n");
  chmod(daemon.dir().c_str(), 0755);
  Loader own = attach({.socket = daemon.socket(), .pipeline = "closed"});
  CHECK(take_all(own).size() == 3);
  CHECK_THAT(try_attach({.socket = daemon.socket(), .pipeline = "../pipelines/open"}).text, Contains("no pipeline"));
  const auto listed = nlohmann::json::parse(query("list", nullptr, daemon.socket().c_str()));
  CHECK(listed["pipelines"].size() == 2);

  if (!is_root()) return;
  CHECK(as_stranger({.socket = daemon.socket(), .pipeline = "open"}, SPDLD_OK, "") == 0);
  CHECK(as_stranger({.socket = daemon.socket(), .pipeline = "closed"}, SPDLD_NOT_FOUND, "pipelines.access.closed") ==
        0);
  CHECK(as_stranger({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(dir.path() / "photos")}, SPDLD_DENIED,
                    "may not send specs") == 0);
}

TEST_CASE("who may use a named pipeline does not hear where its data lie, not from bad samples either") {
  if (!is_root()) return;
  TempDir dir;
  chmod(dir.path().c_str(), 0755);
  make_photos(dir.path() / "photos", 12, 2);
  const auto photos = dir.path() / "photos";
  for (const auto& file : std::filesystem::recursive_directory_iterator(photos))
    if (file.is_regular_file() && file.path().filename().string().back() == 'g')
      std::filesystem::resize_file(file.path(), 0);
  PhotoSpec spec;
  spec.name = "open";
  spec.on_bad = "mask";
  std::filesystem::create_directories(dir.path() / "pipelines");
  std::ofstream(dir.path() / "pipelines/open.toml") << spec.toml(photos);
  spec.name = "strict", spec.on_bad = "fail";
  std::ofstream(dir.path() / "pipelines/strict.toml") << spec.toml(photos);
  const std::string access = "users = [\"" + std::to_string(kStranger) + "\"]\n";
  DaemonProcess daemon("[socket]\nmode = \"0666\"\n[pipelines]\ndir = \"" + (dir.path() / "pipelines").string() +
                       "\"\n[pipelines.access.open]\n" + access + "[pipelines.access.strict]\n" + access);
  chmod(daemon.dir().c_str(), 0755);
  // 0: the reasons hold "is empty" and no path.
  const auto look = [&](const std::string& reasons) {
    const bool told = reasons.find("is empty") != std::string::npos;
    const bool hidden = reasons.find(photos.string()) == std::string::npos;
    if (!told || !hidden) std::fprintf(stderr, "%s\n", reasons.c_str());
    return told && hidden ? 0 : 1;
  };
  CHECK(wait_for(in_child([&] {
          if (setgid(kStranger) != 0 || setuid(kStranger) != 0) return 50;
          Loader loader = attach({.socket = daemon.socket(), .pipeline = "open"});
          take_all(loader);
          std::string reasons;
          for (const auto& reason : loader.stats().reasons) reasons += reason.reason + "; ";
          return look(reasons);
        })) == 0);
  CHECK(wait_for(in_child([&] {
          if (setgid(kStranger) != 0 || setuid(kStranger) != 0) return 50;
          try {
            Loader loader = attach({.socket = daemon.socket(), .pipeline = "strict"});
            loader.next(20'000);
          } catch (const Exception& e) {
            return look(e.what());
          }
          return 2;
        })) == 0);
}

TEST_CASE("data roots and quotas hold") {
  TempDir dir;
  make_photos(dir.path() / "inside/photos", 12, 2);
  make_photos(dir.path() / "outside", 12, 2);
  std::filesystem::create_directory_symlink(dir.path() / "outside", dir.path() / "inside/link");
  DaemonProcess daemon("[data]\nroots = [\"" + (dir.path() / "inside").string() +
                       "\"]\n[limits]\nslot_bytes_max = \"1 MiB\"\n" + "slot_bytes_per_user_max = \"1 MiB\"\n");
  const auto of = [&](const std::filesystem::path& folder, int batch_size = 4) {
    PhotoSpec spec;
    spec.batch_size = batch_size;
    return try_attach({.socket = daemon.socket(), .spec = spec.toml(folder)});
  };
  CHECK(of(dir.path() / "inside/photos").result == SPDLD_OK);
  CHECK(of(dir.path() / "outside").result == SPDLD_DENIED);
  CHECK(of(dir.path() / "inside/link").result == SPDLD_DENIED);
  CHECK(of(dir.path() / "inside/../outside").result == SPDLD_DENIED);
  const AttachOutcome large = of(dir.path() / "inside/photos", 40);  // 40 pictures of 12 KiB, five slots
  CHECK(large.result == SPDLD_LIMIT);
  CHECK_THAT(large.text, Contains("slot_bytes_max") && Contains("batch.size"));
}

TEST_CASE("SIGHUP takes good settings, and keeps the old ones where the file has errors") {
  TempDir dir;
  make_photos(dir.path() / "photos", 12, 2);
  const std::string spec = PhotoSpec{}.toml(dir.path() / "photos");
  const auto roots = [&](const std::string& root) { return "[data]\nroots = [\"" + root + "\"]\n"; };
  DaemonProcess daemon(roots(dir.path().string()));
  CHECK(try_attach({.socket = daemon.socket(), .spec = spec}).result == SPDLD_OK);
  daemon.rewrite_settings("[data]\nrots = 3\n");
  kill(daemon.pid(), SIGHUP);
  wait_for_log(daemon, "has errors; the old settings stay");
  CHECK_THAT(daemon.log(), Contains("rots"));
  CHECK(try_attach({.socket = daemon.socket(), .spec = spec}).result == SPDLD_OK);
  daemon.rewrite_settings(roots("/nowhere"));
  kill(daemon.pid(), SIGHUP);
  wait_for_log(daemon, "was read anew");
  CHECK(try_attach({.socket = daemon.socket(), .spec = spec}).result == SPDLD_DENIED);
}

TEST_CASE("SIGHUP names the keys that changed and wait for a restart, and keeps the command line's log level") {
  const std::string first = "[limits]\ncpu_budget = 1\n";
  DaemonProcess daemon(first);  // with --log-level debug and --socket
  const auto said_of = [&](const std::string& settings) {
    const size_t before = daemon.log().size();
    daemon.rewrite_settings(settings);
    kill(daemon.pid(), SIGHUP);
    REQUIRE(soon([&] {
      const size_t at = daemon.log().find("was read anew", before);
      return at != std::string::npos && daemon.log().find('\n', at) != std::string::npos;
    }));
    const std::string log = daemon.log();
    const size_t at = log.find("was read anew", before);
    return log.substr(at, log.find('\n', at) - at);
  };
  CHECK(said_of(first + "[log]\nlevel = \"error\"\n") == "was read anew");
  CHECK(said_of("[limits]\ncpu_budget = 2\nsessions_max = 9\n[gpu]\nenabled = false\n") ==
        "was read anew; what it says of limits.cpu_budget, gpu.enabled takes effect when spdld is restarted");
  CHECK(said_of(first) == "was read anew");
  const size_t before = daemon.log().size();
  query("ping", nullptr, daemon.socket().c_str());
  CHECK(soon(
      [&] { return daemon.log().find(" ends: its socket was closed", before) != std::string::npos; }));  // at debug
}

TEST_CASE("what the kernel refuses a daemon at its start stands in its log") {
  const pid_t child = in_child([] {
    // EPERM for sched_setaffinity, and for prlimit64 that sets RLIMIT_NOFILE: sanitizers set other limits.
    const std::array<sock_filter, 11> program = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_setaffinity, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_NOFILE, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2]) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    }};
    const sock_fprog filter{program.size(), const_cast<sock_filter*>(program.data())};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      return 77;
    const DaemonProcess daemon("", {"--private", "--linger-ms", "60000"});
    const std::string log = daemon.log();
    const bool both = log.find("setrlimit failed (Operation not permitted)") != std::string::npos &&
                      log.find("sched_setaffinity failed (Operation not permitted)") != std::string::npos;
    if (!both) std::fprintf(stderr, "%s\n", log.c_str());
    return both ? 0 : 1;
  });
  CHECK(wait_for(child) == 0);
}

TEST_CASE("describe says why the cache's folder is not used") {
  TempDir dir;
  make_photos(dir.path() / "photos", 12, 2);
  const auto folder = dir.path() / "cache";
  std::filesystem::create_directory(folder);
  chmod(folder.c_str(), 0777);
  DaemonProcess daemon("[cache]\nfolder = \"" + folder.string() + "\"\n");
  const Loader loader = attach({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(dir.path() / "photos")});
  const auto cache = nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()))["cache"];
  CHECK_THAT(cache["disk_trouble"].get<std::string>(),
             Contains(folder.string() + " must be the daemon's own, and writable by nobody else"));
}

TEST_CASE("SIGTERM stops in good order, whatever goes on") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 40, 2);
  PhotoSpec spec;
  spec.epochs = 0;
  Loader loader = attach({.socket = daemon.socket(), .spec = spec.toml(daemon.dir() / "photos"), .reconnect_ms = 300});
  const Batch batch = loader.next(20'000).batch;
  const Seen seen = look(batch);
  const int status = daemon.stop(SIGTERM);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(look(batch) == seen);
  CHECK_FALSE(std::filesystem::exists(daemon.socket()));
}

TEST_CASE("a second daemon does not take a socket that is answered, and takes a stale one") {
  DaemonProcess daemon;
  const std::string second =
      std::string(SPDLD_DAEMON_BUILT) + " --socket " + daemon.socket() + " 2> " + (daemon.dir() / "second").string();
  const int status = system(second.c_str());
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
  std::string said;
  std::getline(std::ifstream(daemon.dir() / "second"), said);
  CHECK_THAT(said, Contains("another spdld answers there"));
  daemon.stop(SIGKILL);
  daemon.start();
  CHECK_THAT(query("ping", nullptr, daemon.socket().c_str()), Contains("daemon_id"));
}

const char* const kLinger = "2000";  // ms: longer than a busy machine takes from a daemon's start to the first session

TEST_CASE("a private daemon serves its user alone and ends after its last session") {
  DaemonProcess daemon("", {"--private", "--linger-ms", kLinger});
  CHECK_THAT(query("ping", nullptr, daemon.socket().c_str()), Contains("daemon_id"));
  const int status = daemon.wait();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("who only looks at a private daemon does not keep it") {
  DaemonProcess daemon("", {"--private", "--linger-ms", kLinger});
  make_photos(daemon.dir() / "photos", 4, 2);
  { const Loader loader = attach({.socket = daemon.socket(), .spec = PhotoSpec{}.toml(daemon.dir() / "photos")}); }
  // Each look is a session of its own that ends at once; they follow one another without a pause.
  const auto ended = [&] {
    try {
      query("ping", nullptr, daemon.socket().c_str());
      return false;
    } catch (const Exception&) {
      return true;
    }
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!ended() && std::chrono::steady_clock::now() < until) continue;
  CHECK(std::chrono::steady_clock::now() < until);
  const int status = daemon.wait();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a pipeline's part of the CPU is its own file's word, and the operator's over it") {
  TempDir dir;
  make_photos(dir.path() / "photos", 12, 2);
  std::filesystem::create_directories(dir.path() / "pipelines");
  const auto spec_of = [&](const std::string& name) {
    PhotoSpec spec;
    spec.name = name;
    return "cpu_weight = 0.5\n" + spec.toml(dir.path() / "photos");
  };
  for (const char* name : {"own", "set"})
    std::ofstream(dir.path() / "pipelines" / (std::string(name) + ".toml")) << spec_of(name);
  const auto settings = [&](const std::string& weights) {
    return "[pipelines]\ndir = \"" + (dir.path() / "pipelines").string() + "\"\n[pipelines.cpu_weight]\n" + weights;
  };
  DaemonProcess daemon(settings("set = 3\n"));
  Loader own = attach({.socket = daemon.socket(), .pipeline = "own"});
  Loader set = attach({.socket = daemon.socket(), .pipeline = "set"});
  Loader sent = attach({.socket = daemon.socket(), .spec = spec_of("set"), .group = "sent"});  // no named one
  const auto cpu = [&](const char* name) {
    return nlohmann::json::parse(query("describe", name, daemon.socket().c_str()))["cpu"];
  };
  CHECK(cpu("own")["weight"] == 0.5);
  CHECK(cpu("set")["weight"] == 3);
  CHECK(cpu("set")["own_weight"] == 0.5);
  CHECK(cpu("set#2")["weight"] == 0.5);
  CHECK(take_all(set).size() == 3);
  CHECK(soon([&] { return cpu("set")["used_s"] > 0; }));

  daemon.rewrite_settings(settings("own = 7\n"));
  kill(daemon.pid(), SIGHUP);
  wait_for_log(daemon, "was read anew");
  CHECK(cpu("own")["weight"] == 7);
  CHECK(cpu("set")["weight"] == 0.5);
  const auto listed = nlohmann::json::parse(query("list", nullptr, daemon.socket().c_str()))["pipelines"];
  for (const auto& pipeline : listed) CHECK(pipeline["cpu_weight"] == (pipeline["name"] == "own" ? 7 : 0.5));
}

TEST_CASE("a data set that is pinned and lists something else is refused") {
  DaemonProcess daemon;
  make_photos(daemon.dir() / "photos", 12, 2);
  const std::string toml = PhotoSpec{}.toml(daemon.dir() / "photos");
  const auto pinned = [&](const std::string& fingerprint) {
    std::string text = toml;
    return text.insert(text.find("[source]") + 9, "fingerprint = \"" + fingerprint + "\"\n");
  };
  const Loader free = attach({.socket = daemon.socket(), .spec = toml});
  const std::string fingerprint =
      nlohmann::json::parse(query("describe", "photos", daemon.socket().c_str()))["fingerprint"];
  {
    const Loader same = attach({.socket = daemon.socket(), .spec = pinned(fingerprint)});
    CHECK(same.info().fingerprint ==
          std::string(free.info().fingerprint));  // a state goes on with the pin, and without
  }
  std::filesystem::remove(daemon.dir() / "photos/class-1/00001.jpg");
  const AttachOutcome other = try_attach({.socket = daemon.socket(), .spec = pinned(fingerprint)});
  CHECK(other.result == SPDLD_CHANGED);
  CHECK_THAT(other.text,
             Contains("source.fingerprint") && Contains(fingerprint) && Contains("11 samples in 2 classes"));
  CHECK_THAT(try_attach({.socket = daemon.socket(), .spec = pinned("12")}).text, Contains("32 hexadecimal digits"));
}

}  // namespace spdld::operator_test
