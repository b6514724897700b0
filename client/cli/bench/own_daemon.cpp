#include "client/cli/bench/own_daemon.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "client/cli/bench/clock.h"
#include "client/cli/cli.h"
#include "client/program/daemon_binary.h"
#include "client/program/spawn_files.h"
#include "proto/seqpacket.h"

namespace spdld::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kTurnMs = 20;
constexpr auto kListensWithin = std::chrono::seconds(30);
constexpr int kEndsWithinMs = 10'000;
// The daemon ends by itself some time after this process was killed.
constexpr const char* kLingerMs = "600000";

std::string last_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it wrote nothing" : last;
}

}  // namespace

OwnFolder::OwnFolder() : path_((fs::temp_directory_path() / "spdld-bench-XXXXXX").string()) {
  if (!::mkdtemp(path_.data()))
    throw Failure(kWrong, "can't make a folder like " + path_ + ": " + std::strerror(errno) + ".");
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

OwnDaemon::OwnDaemon(const OwnFolder& folder, const std::string& name, const std::string& settings)
    : settings_(folder.path() + "/" + name + ".toml"),
      socket_(folder.path() + "/" + name + ".sock"),
      log_(folder.path() + "/" + name + ".log") {
  std::ofstream file(settings_, std::ios::binary);
  file << settings;
  file.close();
  if (!file) throw Failure(kWrong, "can't write " + settings_ + ".");
  std::string looked_at;
  const std::string program = client::find_daemon_binary(looked_at);
  if (program.empty()) {
    throw Failure(kNoDaemon, "a daemon of this command's own can't be started, for there is no program spdld here: " +
                                 looked_at + "; install it, or set SPDLD_DAEMON to its path.");
  }
  start(program);
  try {
    await_listening();
  } catch (...) {
    stop();
    throw;
  }
}

OwnDaemon::~OwnDaemon() { stop(); }

void OwnDaemon::start(const std::string& program) {
  client::SpawnFiles files;
  files.write_to(log_);
  std::array<std::string, 8> words = {program,    "--private", "--config",    settings_,
                                      "--socket", socket_,     "--linger-ms", kLingerMs};
  std::array<char*, 9> pointers{};
  for (size_t i = 0; i < words.size(); ++i) pointers[i] = words[i].data();
  int error = files.error();
  if (error == 0) error = ::posix_spawn(&pid_, program.c_str(), &files.actions, nullptr, pointers.data(), environ);
  if (error != 0) throw Failure(kNoDaemon, "can't start " + program + ": " + std::strerror(error) + ".");
  process_ = proto::open_pidfd(pid_);
}

double OwnDaemon::delayed_s() const {
  double delayed_ns = 0;
  std::error_code ignored;
  const fs::path tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& task : fs::directory_iterator(tasks, ignored)) {
    std::ifstream file(task.path() / "schedstat");
    double ran_ns = 0, waited_ns = 0;
    if (file >> ran_ns >> waited_ns) delayed_ns += waited_ns;
  }
  return delayed_ns * 1e-9;
}

OwnDaemon::Wake OwnDaemon::await_end(int timeout_ms) const {
  pollfd waited{process_.get(), POLLIN, 0};
  const int count = ::poll(&waited, 1, timeout_ms);
  return count > 0 ? Wake::kEnded : count == 0 ? Wake::kTimeout : Wake::kSignal;
}

void OwnDaemon::await_listening() const {
  const auto until = Clock::now() + kListensWithin;
  while (!proto::connect_to(socket_)) {
    const Wake wake = await_end(kTurnMs);
    if (wake == Wake::kSignal) throw Failure(kWrong, "interrupted while a daemon of this command's own was starting.");
    if (wake == Wake::kEnded)
      throw Failure(kNoDaemon, "a daemon of this command's own ended before it listened: " + last_line_of(log_) + ".");
    if (Clock::now() > until)
      throw Failure(kNoDaemon, "a daemon of this command's own does not listen: " + last_line_of(log_) + ".");
  }
}

void OwnDaemon::stop() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  // A second signal means that the user does not want to wait.
  if (await_end(kEndsWithinMs) != Wake::kEnded) ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace spdld::cli
