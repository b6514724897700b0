// Shared by the commands of spdlctl: the global options, the exit codes, and how a command is declared. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "config/text/arguments.h"

namespace spdld::cli {

enum ExitCode : int {
  kFine = 0,
  kWrong = 1,  // the user's subject is wrong: errors in a file, a bench that failed, no such pipeline
  kUsage = 2,
  kNoDaemon = 3,
  kDenied = 4,
  kTimedOut = 5
};

// Ends the command: one clear sentence for stderr, and the exit code.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// The daemon does not know what was asked for.
class NotFound : public Failure {
 public:
  using Failure::Failure;
};

struct Globals {
  std::string output = "text";  // or "json"
  std::string socket;           // empty: the library looks for it
  std::optional<int64_t> timeout_ms;

  bool json() const { return output == "json"; }
  const char* socket_or_null() const { return socket.empty() ? nullptr : socket.c_str(); }
};

// Runs the chosen command; its result is the exit code.
using RunCommand = std::function<ExitCode()>;

// Adds a command's own options to `command` and sets `run`, which lives as long as the options' values (it owns them).
using Declare = void (*)(config::Arguments command, const Globals& globals, RunCommand& run);

struct Command {
  const char* help;
  const char* more;  // below the options of its own --help
  Declare declare;
};

#define COMMAND(name) Command name##_command();
#include "client/cli/commands.inc"
#undef COMMAND

}  // namespace spdld::cli
