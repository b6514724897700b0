#include "client/src/calls/private_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "client/program/daemon_binary.h"
#include "client/program/spawn_files.h"
#include "proto/seqpacket.h"

namespace spdld::client {

namespace {

constexpr int64_t kRetry_ms = 20;
constexpr int64_t kAnswer_ms = 30'000;
constexpr size_t kLogTailBytes = 4096;

// Daemons that this process started and that have not been waited for: a daemon that ends while its starter lives would
// stay in the process table. Atomics, since any thread may start one.
std::array<std::atomic<pid_t>, 16> started_daemons;

void reap_ended_daemons() {
  for (std::atomic<pid_t>& entry : started_daemons) {
    pid_t pid = entry.load();
    if (pid <= 0) continue;
    const pid_t ended = ::waitpid(pid, nullptr, WNOHANG);
    if (ended == pid || (ended < 0 && errno == ECHILD)) entry.compare_exchange_strong(pid, 0);
  }
}

void remember_daemon(pid_t pid) {
  for (std::atomic<pid_t>& entry : started_daemons) {
    pid_t free = 0;
    if (entry.compare_exchange_strong(free, pid)) return;
  }
}

// A service manager or the training's launcher meant these variables for this process alone. The daemon serves all
// ranks of the node, each with GPUs of its own, so that it must see all GPUs; and how this rank is watched or slowed
// for debugging does not concern it. Variables that lead to the driver and to NVIDIA's MPS stay.
constexpr std::string_view kOwnVariables[] = {"LISTEN_FDS=",
                                              "LISTEN_PID=",
                                              "LISTEN_FDNAMES=",
                                              "NOTIFY_SOCKET=",
                                              "WATCHDOG_",
                                              "CUDA_VISIBLE_DEVICES=",
                                              "CUDA_LAUNCH_BLOCKING=",
                                              "CUDA_INJECTION64_PATH=",
                                              "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="};

std::vector<char*> daemon_environment() {
  std::vector<char*> environment;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const bool is_own = std::any_of(std::begin(kOwnVariables), std::end(kOwnVariables),
                                    [text](std::string_view own) { return text.substr(0, own.size()) == own; });
    if (!is_own) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  return environment;
}

class DaemonSettings : public SpawnSettings {
 public:
  explicit DaemonSettings(const std::string& log) {
    write_to(log);
    note(::posix_spawn_file_actions_addchdir_np(&actions, "/"));
  }
};

std::string last_line_of(const std::string& path, off_t from) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  const off_t start = std::max(from, status.st_size - static_cast<off_t>(kLogTailBytes));
  std::string tail(kLogTailBytes, '\0');
  const ssize_t count = ::pread(file.get(), tail.data(), tail.size(), start);
  tail.resize(count < 0 ? 0 : static_cast<size_t>(count));
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  return tail.substr(tail.rfind('\n') + 1);
}

}  // namespace

PrivateDaemonStart::~PrivateDaemonStart() {
  // Unlocked, not only closed: a child forked meanwhile may have a copy of the descriptor.
  if (lock_) ::flock(lock_.get(), LOCK_UN);
}

CallOutcome PrivateDaemonStart::spawn() {
  std::string looked_at;
  const std::string binary = find_daemon_binary(looked_at);
  if (binary.empty()) {
    return failure(SPDLD_NO_DAEMON, "no daemon runs and none can be started, for there is no program spdld here: " +
                                        looked_at + "; install it, or set SPDLD_DAEMON to its path");
  }
  const std::string log = endpoint_.folder + "/private.log";
  struct stat status = {};
  log_start_ = ::stat(log.c_str(), &status) == 0 ? status.st_size : 0;

  const DaemonSettings settings(log);
  std::string arguments[] = {binary, "--private", "--socket", endpoint_.path};
  char* pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
  std::vector<char*> environment = daemon_environment();
  pid_t pid = 0;
  int error = settings.error();
  if (error == 0) {
    error = ::posix_spawn(&pid, binary.c_str(), &settings.actions, &settings.attributes, pointers, environment.data());
  }
  if (error != 0) return failure(SPDLD_NO_DAEMON, "cannot start " + binary + ": " + text_of_errno(error));
  child_ = proto::open_pidfd(pid);
  remember_daemon(pid);
  answer_before_ = Deadline::after_ms(kAnswer_ms);
  return {};
}

CallOutcome PrivateDaemonStart::describe_end() const {
  const std::string log = endpoint_.folder + "/private.log";
  const std::string line = last_line_of(log, log_start_);
  return failure(SPDLD_NO_DAEMON, "the private daemon ended before it answered: " +
                                      (line.empty() ? "it wrote nothing to " + log : line + " (" + log + ")"));
}

CallOutcome PrivateDaemonStart::advance(Deadline deadline, UniqueFd& socket) {
  reap_ended_daemons();
  for (;;) {  // each turn waits, at most until the deadline
    const bool has_ended = child_ && proto::process_has_ended(child_.get());  // looked at before the socket
    socket = connect_before(endpoint_.path, deadline);  // where one listens already, none is started
    if (socket) return {};
    if (errno != ENOENT && errno != ECONNREFUSED) return connect_failure(endpoint_, errno);
    if (has_ended) {
      reap_ended_daemons();
      return describe_end();
    }
    if (answer_before_.passed()) {
      return failure(SPDLD_NO_DAEMON, "the private daemon was started but does not answer at " + endpoint_.path +
                                          ": see " + endpoint_.folder + "/private.log");
    }
    if (!lock_) {
      const std::string path = endpoint_.folder + "/private.lock";
      UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!lock) return failure(SPDLD_NO_DAEMON, "cannot open " + path + ": " + text_of_errno(errno));
      if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
        lock_ = std::move(lock);
        continue;  // the holder before this one may just have succeeded: look once more before starting
      }
    } else if (answer_before_.is_never()) {
      const CallOutcome outcome = spawn();
      if (!outcome.ok()) return outcome;
    }
    const Wake wake = wait_for(child_.get(), POLLIN, deadline.or_earlier(Deadline::after_ms(kRetry_ms)));
    if (wake == Wake::kSignal) return failure(SPDLD_INTERRUPTED, "interrupted while the private daemon was starting");
    if (deadline.passed()) {
      return failure(SPDLD_TIMEOUT, "the private daemon does not answer yet at " + endpoint_.path);
    }
  }
}

}  // namespace spdld::client
