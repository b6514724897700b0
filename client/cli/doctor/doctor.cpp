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

void declare_doctor(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto file = std::make_shared<std::string>();
  command.text("--config", *file, "FILE", std::string("the daemon's settings file (default: ") + kSettingsFile + ")");
  run = [&globals, file] { return doctor_command(globals, *file); };
}

constexpr const char* kDoctorMore =
    "Each line is a check, with what was found and, after an arrow, what to do:\n"
    "  OK    nothing to do\n"
    "  NOTE  worth knowing; nothing is wrong\n"
    "  WARN  it works, but slowly, or not for long\n"
    "  FAIL  something does not work; the exit code is 1\n\n"
    "The command needs no daemon: it looks at the kernel, the limits of processes and control groups, the clock, the "
    "GPU driver, the settings file, the folders that the file names, and the servers of its stores. If a daemon runs, "
    "its own limits and its status are looked at too. Nothing is changed.\n\n"
    "Root sees the most: folders are looked at with the rights of the daemon's user. Servers are asked for a "
    "connection, from spdlctl and not from the daemon; whether a store takes the daemon's credentials is seen in the "
    "line \"store in use\" of a running daemon. No look takes longer than some seconds.\n\n"
    "Examples:\n"
    "  sudo spdlctl doctor\n"
    "  spdlctl doctor --config new.toml -o json | jq '.checks[] | select(.level == \"FAIL\")'";

}  // namespace

Command doctor_command() { return {"check this node, and say what to do", kDoctorMore, &declare_doctor}; }

}  // namespace spdld::cli
