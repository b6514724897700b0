// doctor: checks a node, and says what to do.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "client/cli/cli.h"
#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/gather.h"
#include "client/cli/doctor/report.h"
#include "client/cli/query.h"

namespace spdld::cli {
namespace {

constexpr const char* kSettingsFile = "/etc/spdld/spdld.toml";

ExitCode doctor_command(const Globals& globals, const std::string& file) {
  std::error_code error;
  if (!file.empty() && !std::filesystem::exists(file, error) && error != std::errc::permission_denied)
    throw Failure(kWrong, "there is no file " + file + ": name the daemon's file, or leave out --config.");
  const doctor::Findings findings = doctor::examine(doctor::gather(globals, file.empty() ? kSettingsFile : file));
  if (globals.json())
    print_json(doctor::report_document(findings));
  else
    print(doctor::report_text(findings, page_of_stdout()));
  return doctor::count_of(findings, doctor::Level::kFail) > 0 ? kWrong : kFine;
}

}  // namespace

void declare_doctor(config::Arguments command, const Globals& globals, Run& run) {
  const auto file = std::make_shared<std::string>();
  command.text("--config", *file, "FILE", std::string("the daemon's settings file (default: ") + kSettingsFile + ")");
  run = [&globals, file] { return doctor_command(globals, *file); };
}

}  // namespace spdld::cli
