// export: the listing of a pipeline's data set as a text file, to be kept with a run, compared, and included from.
#include <unistd.h>

#include <memory>
#include <spdld.hpp>

#include "client/cli/format.h"
#include "client/cli/new_file.h"
#include "client/cli/progress.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

ExitCode export_listing(const Globals& globals, const std::string& pipeline, const std::string& path) {
  const std::string group = "spdlctl-export-" + std::to_string(getpid());
  AttachOptions options;
  options.socket = globals.socket_or_null();
  options.pipeline = pipeline.c_str();
  options.group = group.c_str();
  options.world_size = 1;
  options.device = "cpu";
  options.client_name = "spdlctl export";
  StderrProgress progress;
  options.progress = [](void* line, const char* what, uint64_t done, uint64_t total) {
    static_cast<StderrProgress*>(line)->show(text::progress_of(what, done, total));
    return 0;
  };
  options.progress_user = &progress;
  std::unique_ptr<Loader> held;  // so that the pipeline stays as it is
  try {
    held = std::make_unique<Loader>(options);
  } catch (const Exception& error) {
    throw Failure(exit_code_of(error.result()), error.what());
  }
  const std::string name = open_pipeline_of(globals, group);
  NewFile file(path);
  std::string fingerprint;
  uint64_t listed = 0, next = 0;
  do {
    const Json part = ask(globals, "samples", name + " from " + std::to_string(next));
    const uint64_t before = next;
    next = count_at(part, "next");
    if (fingerprint.empty()) fingerprint = text_at(part, "fingerprint"), listed = count_at(part, "listed");
    if (text_at(part, "fingerprint") != fingerprint || next <= before)
      throw Failure(kWrong, "the data set was listed anew meanwhile: try again.");
    const Json* const lines = part.find("lines");
    if (lines == nullptr || !lines->is_string()) throw Failure(kWrong, "the daemon answered without lines.");
    file.write(lines->text());
    progress.show({"writing", next, listed, "samples"});
  } while (next < listed);
  const bool is_stdout = file.is_stdout();
  file.finish();
  progress.clear();
  if (is_stdout) return kFine;  // the listing alone
  if (globals.json())
    print_json({{"file", path}, {"fingerprint", fingerprint}, {"samples", listed}});
  else
    print(safe_text(path) + ": " + counted(listed, "sample") + ", fingerprint " + fingerprint + "\n");
  return kFine;
}

}  // namespace

void declare_export(config::Arguments command, const Globals& globals, Run& run) {
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  command.word("PIPELINE", words->first, "a pipeline's file (.toml), or its name");
  command.word("FILE", words->second,
               "the file to write: all of it, or nothing; or a pipe or a device, such as /dev/stdout");
  run = [&globals, words] { return export_listing(globals, words->first, words->second); };
}

}  // namespace spdld::cli
