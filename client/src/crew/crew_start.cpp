#include "client/src/crew/crew_start.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "client/program/spawn_files.h"
#include "proto/text.h"
#include "proto/unique_fd.h"

namespace spdld::client {

namespace {

constexpr size_t kStackBytes = 256 * 1024;

// A process that shares this one's memory costs the same however large that memory is. The thread sanitizer knows none.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SPDLD_COPIES_MEMORY
#endif
#endif
#if defined(SPDLD_COPIES_MEMORY) || defined(__SANITIZE_THREAD__)
constexpr int kStepFlags = 0;
#else
constexpr int kStepFlags = CLONE_VM | CLONE_VFORK;
#endif

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// The command's input has no bound here, unlike a text of the protocol: a data set of the program's may be in it. None,
// with errno: it can't be made.
UniqueFd crew_input(const CrewCommand& command, const std::string& token, const std::string& socket) {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  UniqueFd memory(::memfd_create("spdld-crew", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_written = memory && write_all(memory.get(), token + "\n" + socket + "\n") &&
                          (!command.input || write_all(memory.get(), *command.input)) &&
                          ::fcntl(memory.get(), F_ADD_SEALS, kSeals) == 0 && ::lseek(memory.get(), 0, SEEK_SET) == 0;
  if (is_written) return memory;
  const int reason = errno;
  memory.reset();
  errno = reason;
  return {};
}

class CrewSettings : public SpawnSettings {
 public:
  CrewSettings(int input, bool has_stderr) {
    note(::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO));
    if (!has_stderr) note(::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
    note(::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO));
    note(::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1));
  }
};

struct Step {
  const char* program;
  const CrewSettings* settings;
  char* const* arguments;
};

// Runs in a process of its own for a moment, while the caller waits. Its exit code is the error.
int spawn_from_the_step(void* told) {
  const auto& step = *static_cast<const Step*>(told);
  pid_t pid = 0;
  ::_exit(
      ::posix_spawnp(&pid, step.program, &step.settings->actions, &step.settings->attributes, step.arguments, environ));
}

// As posix_spawn does, but through a process between, so that the program is nobody's child. That process ends without
// a signal to this one, and wait() does not see it.
int spawn_detached(const CrewSettings& settings, char* const* arguments) {
  void* stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return errno;
  Step step{arguments[0], &settings, arguments};
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler would run there, in this process's memory
  const pid_t between = ::clone(&spawn_from_the_step, static_cast<char*>(stack) + kStackBytes, kStepFlags, &step);
  const int error = between < 0 ? errno : 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  if (between > 0)
    while (::waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {
    }
  ::munmap(stack, kStackBytes);
  return error != 0 ? error : WEXITSTATUS(status);
}

}  // namespace

CallOutcome start_crew(const CrewCommand& command, const std::string& token, const std::string& socket) {
  const auto failed = [&command](int error) {
    return failure(SPDLD_FAILED, "cannot start " + proto::shown_name(command.arguments[0]) +
                                     ", which is to run the pipeline's Python operations: " + text_of_errno(error));
  };
  // Where a program has closed its stderr, another descriptor may have that number. It ends with exec, as a stderr does
  // not.
  const int stderr_flags = ::fcntl(STDERR_FILENO, F_GETFD);
  const bool has_stderr = stderr_flags >= 0 && (stderr_flags & FD_CLOEXEC) == 0;
  const UniqueFd input = crew_input(command, token, socket);
  if (!input) return failed(errno);
  const CrewSettings settings(input.get(), has_stderr);
  if (settings.error() != 0) return failed(settings.error());
  std::vector<std::string> texts = command.arguments;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int error = spawn_detached(settings, arguments.data());
  return error == 0 ? CallOutcome{} : failed(error);
}

}  // namespace spdld::client
