// export: the listing of a pipeline's data set as a text file, to be kept with a run, compared, and included from.
#include <memory>

#include "client/cli/format.h"
#include "client/cli/new_file.h"
#include "client/cli/query.h"
#include "client/cli/show/looking.h"

namespace spdld::cli {
namespace {

using config::Json;

ExitCode export_listing(const Globals& globals, const std::string& pipeline, const std::string& path) {
  StderrProgress progress;
  const std::unique_ptr<Loader> held = look_at(globals, pipeline, "export", progress);  // the pipeline stays as it is
  NewFile file(path);
  std::string fingerprint;
  uint64_t listed = 0, next = 0;
  do {
    const Json part = ask_of(globals, *held, "samples", "from " + std::to_string(next));
    const uint64_t before = next;
    next = count_at(part, "next");
    if (fingerprint.empty()) {
      fingerprint = text_at(part, "fingerprint");
      listed = count_at(part, "listed");
    }
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

void declare_export(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  command.word("PIPELINE", words->first, "a pipeline's file (.toml), or its name");
  command.word("FILE", words->second,
               "the file to write: all of it, or nothing; or a pipe or a device, such as /dev/stdout");
  run = [&globals, words] { return export_listing(globals, words->first, words->second); };
}

constexpr const char* kExportMore =
    "The file is text. Its head holds the listing's fingerprint and the number of samples. Then each line holds one "
    "sample: its id, a tab and its name. In a name, a backslash is doubled, and bytes that are not printable UTF-8 are "
    "written as \\xNN.\n\n"
    "Uses of the listing in a pipeline file:\n"
    "  fingerprint = \"...\" in [source]  refuses the data set if its listing has another fingerprint.\n"
    "  include = \"FILE\" in [order]      takes only the samples in the file, whole or with lines removed.\n\n"
    "Example:\n"
    "  spdlctl export train.toml train.listing";

}  // namespace

Command export_command() {
  return {"write the listing of a pipeline's data set to a file", kExportMore, &declare_export};
}

}  // namespace spdld::cli
