// A daemon with parts that no room of it knows. Its command line is --config FILE --socket PATH.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "config/checks/load.h"
#include "daemon/node/node.h"

namespace spdld::test {

// Returns the exit code. `add`: adds the parts, which outlive the call.
inline int run_daemon_with(int count, char** words, const std::function<void(node::Options&)>& add) {
  if (count != 5 || std::strcmp(words[1], "--config") != 0 || std::strcmp(words[3], "--socket") != 0) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  try {
    auto loaded = config::load_daemon_file(words[2]);
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.sentences().c_str()), 2;
    node::Options options;
    options.settings = std::move(*loaded.value);
    options.settings.socket_path = words[4];
    add(options);
    node::Node node(std::move(options));
    node.run();
    return node.exit_code();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s: %s\n", words[0], error.what()), 1;
  }
}

}  // namespace spdld::test
