#include "tests/support/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "proto/seqpacket.h"

extern char** environ;

namespace fs = std::filesystem;

namespace spdld::test {
namespace {

std::string executable() {
  const char* given = std::getenv("SPDLD_DAEMON");
  return given ? given : SPDLD_DAEMON_BUILT;
}

size_t entries(const fs::path& folder) {
  size_t count = 0;
  std::error_code ignored;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder, ignored)) count++;
  return count;
}

}  // namespace

DaemonProcess::DaemonProcess(std::string settings, std::vector<std::string> arguments)
    : arguments_(std::move(arguments)) {
  rewrite_settings(settings);
  start();
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) stop(SIGKILL);
}

void DaemonProcess::rewrite_settings(const std::string& settings) {
  // Nothing of a test's is left behind where the user's own daemons keep theirs.
  const bool says = settings.find("[state]") != std::string::npos;
  std::ofstream(dir_.path() / "spdld.toml") << settings << (says ? "" : "\n[state]\nfolder = \"off\"\n");
}

void DaemonProcess::start() {
  std::vector<std::string> words = {
      executable(), "--config", (dir_.path() / "spdld.toml").string(), "--socket", socket(), "--log-level", "debug"};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log_path = (dir_.path() / "log").string();
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failure = posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(failure == 0);

  for (int tries = 0; tries < 3000; tries++) {
    if (proto::connect_to(socket())) return;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    poll(nullptr, 0, 10);
  }
  pid_ = -1;
  FAIL("spdld does not answer: " << log());
}

int DaemonProcess::stop(int signal) {
  kill(pid_, signal);
  return wait();
}

int DaemonProcess::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string DaemonProcess::log() const {
  std::ostringstream text;
  text << std::ifstream(dir_.path() / "log").rdbuf();
  return text.str();
}

size_t DaemonProcess::open_fds() const {
  size_t count = 0;
  std::error_code gone;  // what was closed meanwhile
  for (const auto& fd : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd"))
    count += std::filesystem::read_symlink(fd, gone).extension() != ".jpg" && !gone;
  return count;
}
size_t DaemonProcess::threads() const { return entries("/proc/" + std::to_string(pid_) + "/task"); }

size_t DaemonProcess::memfd_mappings() const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:spdld-slot") != std::string::npos;
  return count;
}

uint64_t DaemonProcess::anonymous_and_shared_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  uint64_t kib = 0;
  for (std::string line; std::getline(status, line);)
    for (const std::string_view name : {"RssAnon:", "RssShmem:"})
      if (line.starts_with(name)) kib += std::strtoull(line.c_str() + name.size(), nullptr, 10);
  return kib * 1024;
}

}  // namespace spdld::test
