#include "client/cli/show/looking.h"

#include <unistd.h>

#include "client/cli/query.h"

namespace spdld::cli {

void show_progress(AttachOptions& options, StderrProgress& line) {
  options.progress = [](void* user, const char* what, uint64_t done, uint64_t total) {
    static_cast<StderrProgress*>(user)->show(text::progress_of(what, done, total));
    return 0;
  };
  options.progress_user = &line;
}

std::unique_ptr<Loader> look_at(const Globals& globals, const std::string& pipeline, const std::string& command,
                                StderrProgress& progress) {
  const std::string group = "spdlctl-" + command + "-" + std::to_string(getpid()), name = "spdlctl " + command;
  AttachOptions options;
  options.socket = globals.socket_or_null();
  options.pipeline = pipeline.c_str();
  options.group = group.c_str();
  options.world_size = 1;
  options.held_max = 1;
  options.device = "cpu";
  options.looks = 1;
  options.client_name = name.c_str();
  show_progress(options, progress);
  try {
    return std::make_unique<Loader>(options);
  } catch (const Exception& error) {
    throw Failure(exit_code_of(error.result()), error.what());
  }
}

}  // namespace spdld::cli
