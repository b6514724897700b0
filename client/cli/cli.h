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
using Run = std::function<ExitCode()>;

// Adds a command's own options to `command` and sets `run`, which lives as long as the options' values (it owns them).
using Declare = void (*)(config::Arguments command, const Globals& globals, Run& run);

void declare_bench(config::Arguments command, const Globals& globals, Run& run);
void declare_check(config::Arguments command, const Globals& globals, Run& run);
void declare_describe(config::Arguments command, const Globals& globals, Run& run);
void declare_doctor(config::Arguments command, const Globals& globals, Run& run);
void declare_errors(config::Arguments command, const Globals& globals, Run& run);
void declare_export(config::Arguments command, const Globals& globals, Run& run);
void declare_list(config::Arguments command, const Globals& globals, Run& run);
void declare_operations(config::Arguments command, const Globals& globals, Run& run);
void declare_page(config::Arguments command, const Globals& globals, Run& run);
void declare_ping(config::Arguments command, const Globals& globals, Run& run);
void declare_samples(config::Arguments command, const Globals& globals, Run& run);
void declare_show(config::Arguments command, const Globals& globals, Run& run);
void declare_status(config::Arguments command, const Globals& globals, Run& run);
void declare_top(config::Arguments command, const Globals& globals, Run& run);
void declare_trace(config::Arguments command, const Globals& globals, Run& run);
void declare_warm(config::Arguments command, const Globals& globals, Run& run);
void declare_why(config::Arguments command, const Globals& globals, Run& run);

}  // namespace spdld::cli
