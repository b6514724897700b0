// Runs a command with a fake driver of its own, for tests that are no C++ program:
//   fake_cuda_run [--devices=N] [--device-bytes=N] [--copy-us=N] [--exclusive] [--mig] [--no-fds] [--old-driver]
//                 [--inject=SYMBOL:CODE[:NTH[:ever]]]... [--] COMMAND [ARGUMENT]...
// The command's exit status; 99, and what it was, when a rule was broken. The command finds the breaches so far in the
// text file $SPDLD_FAKE_CUDA/violations.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fake_cuda/fake_cuda.h"

namespace {

using spdld::test::FakeCuda;
using spdld::test::FakeCudaOptions;

constexpr int kBreach = 99;

struct Wish {
  FakeCudaOptions options;
  std::vector<std::string> faults;
  char** command = nullptr;
};

Wish parse(char** argument) {
  Wish wish;
  for (; *argument && std::string_view(*argument).rfind("--", 0) == 0; ++argument) {
    const std::string_view text = *argument;
    if (text == "--") {
      ++argument;
      break;
    }
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? "" : text.substr(equals + 1));
    if (name == "--devices")
      wish.options.devices = std::stoi(value);
    else if (name == "--device-bytes")
      wish.options.device_bytes = std::stoull(value);
    else if (name == "--copy-us")
      wish.options.copy_us = static_cast<uint32_t>(std::stoul(value));
    else if (name == "--exclusive")
      wish.options.exclusive_process = true;
    else if (name == "--mig")
      wish.options.mig = true;
    else if (name == "--no-fds")
      wish.options.shares_fds = false;
    else if (name == "--old-driver")
      wish.options.old_driver = true;
    else if (name == "--inject")
      wish.faults.push_back(value);
    else
      throw std::invalid_argument("no option " + std::string(name));
  }
  if (!*argument) throw std::invalid_argument("no command to run");
  wish.command = argument;
  return wish;
}

void inject(FakeCuda& cuda, const std::string& fault) {
  std::vector<std::string> parts(1);
  for (const char letter : fault) {
    if (letter == ':')
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  if (parts.size() < 2) throw std::invalid_argument("--inject=" + fault + ": SYMBOL:CODE[:NTH[:ever]]");
  const uint64_t nth = parts.size() > 2 ? std::stoull(parts[2]) : 1;
  cuda.inject(parts[0], std::stoi(parts[1]), nth, parts.size() > 3 && parts[3] == "ever");
}

int run(char** argv) {
  const Wish wish = parse(argv + 1);
  FakeCuda cuda(wish.options);
  for (const auto& fault : wish.faults) inject(cuda, fault);
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const auto& [name, value] : cuda.environment()) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(wish.command[0], wish.command);
    std::perror(wish.command[0]);
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) throw std::runtime_error("cannot start the command");
  const auto violations = cuda.violations();
  for (const auto& one : violations) std::fprintf(stderr, "fake CUDA: %s\n", one.c_str());
  if (!violations.empty()) return kBreach;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int, char** argv) {
  try {
    return run(argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "fake_cuda_run: %s\n", fault.what());
    return 2;
  }
}
