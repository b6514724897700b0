#include "client/cli/doctor/report.h"

#include <algorithm>

namespace spdld::cli::doctor {
namespace {

constexpr size_t kLevelColumns = 6, kApart = 2;

Style style_of(Level level) {
  switch (level) {
    case Level::kOk:
      return Style::kGood;
    case Level::kNote:
      return Style::kDim;
    case Level::kWarn:
      return Style::kWarning;
    case Level::kFail:
      return Style::kBad;
  }
  return Style::kPlain;
}

std::string padded(std::string_view text, size_t columns) {
  return std::string(text) + std::string(columns - std::min(columns, display_width(text)), ' ');
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kOk:
      return "OK";
    case Level::kNote:
      return "NOTE";
    case Level::kWarn:
      return "WARN";
    case Level::kFail:
      return "FAIL";
  }
  return "";
}

size_t count_of(const Findings& findings, Level level) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const auto& f) { return f.level == level; }));
}

std::string report_text(const Findings& findings, const Page& page) {
  size_t check_columns = 0;
  for (const Finding& finding : findings) check_columns = std::max(check_columns, display_width(finding.check));
  const size_t indent = kLevelColumns + check_columns + kApart;
  const size_t columns = page.columns > indent + kColumnsMin / 2 ? page.columns - indent : kColumnsMin / 2;
  std::string text;
  for (const Finding& finding : findings) {
    text += styled(name_of(finding.level), style_of(finding.level), page.colour) +
            padded("", kLevelColumns - name_of(finding.level).size()) + padded(finding.check, check_columns + kApart);
    bool is_first = true;
    for (const std::string& line : wrapped(finding.found, columns)) {
      text += (is_first ? "" : std::string(indent, ' ')) + line + "\n";
      is_first = false;
    }
    if (is_first) text += "\n";
    // A command is copied whole, so its lines are not broken.
    if (!finding.advice.empty())
      text += std::string(indent, ' ') + styled("-> " + finding.advice, Style::kStrong, page.colour) + "\n";
  }
  const size_t failed = count_of(findings, Level::kFail), warned = count_of(findings, Level::kWarn);
  return text + "\n" + counted(findings.size(), "check") + ": " + count_text(failed) + " failed, " +
         counted(warned, "warning") + "\n";
}

config::Json report_document(const Findings& findings) {
  config::Json checks = config::Json::array();
  for (const Finding& finding : findings)
    checks.push_back({{"level", name_of(finding.level)},
                      {"check", finding.check},
                      {"found", finding.found},
                      {"advice", finding.advice}});
  return {
      {"checks", checks}, {"failed", count_of(findings, Level::kFail)}, {"warned", count_of(findings, Level::kWarn)}};
}

}  // namespace spdld::cli::doctor
