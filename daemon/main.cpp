// spdld: arguments -> settings -> Node -> wait.
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "config/checks/load.h"
#include "config/text/arguments.h"
#include "daemon/base/system/log.h"
#include "daemon/node/node.h"

namespace {

constexpr const char* kDefaultConfig = "/etc/spdld/spdld.toml";
constexpr const char* kAbout =
    "spdld is the data-loading daemon. It fetches, decodes and batches training data, and hands the batches to\n"
    "trainer processes in shared memory.";
constexpr const char* kFooter =
    "SIGHUP makes the daemon read its settings again. SIGTERM stops it in good order: trainers keep the batches that\n"
    "they hold, and take the next batch when a daemon runs again. `spdlctl` looks inside a running daemon; see\n"
    "spdlctl --help.";

struct Arguments {
  std::string config;
  std::string socket;
  std::string log_level;
  bool is_private = false;
  uint32_t linger_ms = 10'000;
};

void declare(spdld::config::Arguments options, Arguments& arguments) {
  options.text("-c,--config", arguments.config, "FILE",
               std::string("the settings file (default: ") + kDefaultConfig + ", if it exists)");
  options.text("-s,--socket", arguments.socket, "PATH", "listen at this path instead of the settings' path");
  options.choice("-l,--log-level", arguments.log_level, {"trace", "debug", "info", "warn", "error"}, "LEVEL",
                 "log messages of this level and above: trace, debug, info, warn or error");
  options.flag("--private", arguments.is_private,
               "serve this user alone, and end after the last client has left (see --linger-ms)");
  options.number("--linger-ms", arguments.linger_ms, 0, 86'400'000, "N",
                 "how long a private daemon waits for another client before it ends");
}

// A private daemon serves all ranks of a run, so it must not stay on the cores of the rank that started it.
void forget_affinity() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &all);
  if (sched_setaffinity(0, sizeof all, &all) == 0) return;  // the kernel keeps to what the cgroup allows
  spdld::log::warn("this daemon stays on the cores of the process that started it: sched_setaffinity failed ({})",
                   std::strerror(errno));
}

// A slot is a descriptor, and so is a client: the usual soft limit of 1,024 is for programs that use select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return spdld::log::warn("the limit of open files is not known: getrlimit failed ({})", std::strerror(errno));
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    spdld::log::warn("the limit of open files stays at {}: setrlimit failed ({}); each batch slot and client takes one",
                     before, std::strerror(errno));
}

// Returns false after it has told what is wrong.
bool load(const Arguments& arguments, spdld::node::Options& options) {
  std::error_code ignored;
  std::filesystem::path file = arguments.config;
  if (file.empty() && !arguments.is_private && std::filesystem::exists(kDefaultConfig, ignored)) file = kDefaultConfig;
  if (!file.empty()) {
    auto loaded = spdld::config::load_daemon_file(file);
    if (!loaded) {
      std::fprintf(stderr, "%s\n", loaded.sentences().c_str());
      return false;
    }
    options.settings = std::move(*loaded.value);
    options.config_file = std::filesystem::absolute(file);
  }
  options.of_file = options.settings;
  options.log_level = arguments.log_level;
  if (!arguments.socket.empty()) options.settings.socket_path = arguments.socket;
  if (!arguments.log_level.empty()) options.settings.log_level = arguments.log_level;
  if (arguments.is_private) options.settings.socket_mode = 0600;
  options.is_private = arguments.is_private;
  options.linger_ms = arguments.linger_ms;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using Next = spdld::config::CommandLine::Parsed::Next;
  spdld::config::CommandLine line("spdld", "spdld " SPDLD_VERSION, kAbout, kFooter);
  Arguments arguments;
  declare(line.options(), arguments);
  const auto parsed = line.parse({argv + 1, argv + argc});
  if (parsed.next == Next::kWrong) {
    std::fprintf(stderr, "spdld: %s\n", parsed.text.c_str());
    return 2;
  }
  if (parsed.next == Next::kPrint) return std::fputs(parsed.text.c_str(), stdout) < 0 ? 1 : 0;

  // A client that is gone, and a limit of files' sizes, are errors of the call that meets them, and handled there.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    spdld::node::Options options;
    if (!load(arguments, options)) return 2;
    spdld::log::set_level(options.settings.log_level);
    raise_descriptor_limit();  // before any thread begins
    if (arguments.is_private) forget_affinity();
    spdld::node::Node node(std::move(options));
    node.run();
    return node.exit_code();
  } catch (const std::exception& e) {
    spdld::log::critical("{}", e.what());
    return 1;
  }
}
