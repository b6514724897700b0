// A daemon whose samples pass a third stage, which no room of it knows: two graders who take some time for each sample.
//
//   graded_daemon --config FILE --socket PATH
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "config/checks/load.h"
#include "daemon/node/node.h"
#include "tests/support/grading.h"

int main(int count, char** words) {
  using namespace spdld;
  if (count != 5 || std::strcmp(words[1], "--config") != 0 || std::strcmp(words[3], "--socket") != 0) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  try {
    auto loaded = config::load_daemon_file(words[2]);
    if (!loaded) return std::fprintf(stderr, "%s\n", loaded.sentences().c_str()), 2;
    test::Graders graders(2, std::chrono::milliseconds(2));
    node::Options options;
    options.settings = std::move(*loaded.value);
    options.settings.socket_path = words[4];
    options.more_stages = {test::grading(graders)};
    options.more_executors = {graders.executor()};
    node::Node node(std::move(options));
    node.run();
    return node.exit_code();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "graded_daemon: %s\n", error.what()), 1;
  }
}
