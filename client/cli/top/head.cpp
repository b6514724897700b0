// The node's lines at the top.
#include <algorithm>

#include "client/cli/query.h"
#include "client/cli/top/views.h"

namespace spdld::cli::top {
namespace {

using config::Json;

constexpr double kRoleLeast = 0.005;  // cores: a role that takes less is not worth a word
constexpr double kThrottledLeast = 0.005;
constexpr size_t kTwoBars = 64, kBarColumnsLeast = 40;  // columns for bars at all, and for two in a row
constexpr size_t kNameColumns = 8, kMetersApart = 3;

struct Meter {
  std::string name;
  double part;
  std::string text;
  Style style;
};

std::vector<std::pair<double, std::string>> roles_of(const Json& node) {
  std::vector<std::pair<double, std::string>> roles;
  for (const Json& role : list_or_empty(node, "roles"))
    if (const double cores = number_or_zero(role, "cpu"); cores >= kRoleLeast)
      roles.emplace_back(cores, text_or_empty(role, "role"));
  std::sort(roles.begin(), roles.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  return roles;
}

std::string cores_text(const Json& node) {
  std::string text = decimal_text(number_or_zero(node, "cpu"), 2) + " cores";
  std::string parts;
  for (const auto& [cores, role] : roles_of(node))
    parts += (parts.empty() ? ": " : ", ") + role + " " + decimal_text(cores, 2);
  const double throttled = number_or_zero(node, "throttled");
  return text + parts + (throttled >= kThrottledLeast ? "; the quota held it back " + percent_text(throttled) : "");
}

// "1.2/4.0 GiB" where both have one unit.
std::string bytes_of_text(double bytes, double most) {
  const std::string has = bytes_text(bytes), may = bytes_text(most);
  const size_t has_unit = has.find(' '), may_unit = may.find(' ');
  const bool is_one_unit = has.substr(has_unit) == may.substr(may_unit);
  return (is_one_unit ? has.substr(0, has_unit) : has) + "/" + may;
}

Meter bytes_meter(const std::string& name, const Json& node, const char* bytes, const char* most, Style style) {
  const double has = number_or_zero(node, bytes), may = number_or_zero(node, most);
  return {name, ratio(has, may), bytes_of_text(has, may), style};
}

std::vector<Meter> meters_of(const Json& node) {
  const double busy = number_or_zero(node, "decode_busy");
  const uint64_t lanes = count_or_zero(node, "decode_lanes");
  const double use = ratio(busy, static_cast<double>(lanes));
  const uint64_t files = count_or_zero(node, "descriptors"), files_max = count_or_zero(node, "descriptors_max");
  const double files_use = ratio(static_cast<double>(files), static_cast<double>(files_max));
  const double in_flight = ratio(number_or_zero(node, "in_flight_bytes"), number_or_zero(node, "in_flight_bytes_max"));
  return {{"decode", use, busy_text(busy, lanes), use_style(use)},
          bytes_meter("cache", node, "cache_bytes", "cache_bytes_max", Style::kGood),
          bytes_meter("reads", node, "in_flight_bytes", "in_flight_bytes_max", use_style(in_flight)),
          {"files", files_use, count_text(files) + "/" + count_text(files_max), use_style(files_use)}};
}

void add_meter(Line& line, const Meter& meter, size_t columns, size_t text_columns) {
  line.add(padded(meter.name, kNameColumns), Style::kStrong);
  add_bar(line, meter.part, columns - std::min(columns, kNameColumns + 1 + text_columns), meter.style);
  line.add(" " + padded(meter.text, text_columns));
}

// The widest text of a column of meters, so that their bars end below one another.
size_t widest(const std::vector<Meter>& meters, size_t first, size_t step) {
  size_t columns = 0;
  for (size_t m = first; m < meters.size(); m += step) columns = std::max(columns, columns_of(meters[m].text));
  return columns;
}

void add_meters(Lines& lines, const std::vector<Meter>& meters, size_t columns) {
  if (columns < kBarColumnsLeast) return;
  const size_t beside = columns >= kTwoBars ? 2 : 1;
  const size_t each = (columns - (beside - 1) * kMetersApart) / beside;
  for (size_t m = 0; m < meters.size(); m += beside) {
    Line line;
    for (size_t b = 0; b < beside && m + b < meters.size(); b++) {
      if (b > 0) line.add(std::string(kMetersApart, ' '));
      add_meter(line, meters[m + b], each, widest(meters, b, beside));
    }
    lines.push_back(std::move(line));
  }
}

std::string window_text(const Sight& sight) {
  const double seconds = number_or_zero(*sight.node, "seconds");
  const bool is_young = seconds < 0.8 * sight.window_s;
  return "last " + (is_young ? decimal_text(seconds, 1) : std::to_string(sight.window_s)) + " s";
}

std::string node_memory_text(const Json& node) {
  return bytes_text(number_or_zero(node, "pss_bytes")) + ", " + bytes_text(number_or_zero(node, "slot_bytes")) +
         " in slots";
}

}  // namespace

Lines head_lines(const Sight& sight, size_t columns, size_t rows_most) {
  const Json& node = *sight.node;
  Line title = line_of(text_or_empty(*sight.document, "daemon"), Style::kStrong);
  title.add("  up " + duration_text(number_or_zero(*sight.document, "uptime_s")));
  title.add("  " + counted(count_or_zero(node, "sessions"), "session"));
  add_at_end(title, window_text(sight), columns, Style::kStrong);
  Lines lines = {title};
  lines.push_back(line_of(padded("cpu", kNameColumns), Style::kStrong));
  lines.back().add(cores_text(node));
  add_at_end(lines.back(), "memory " + node_memory_text(node), columns, Style::kPlain);
  add_meters(lines, meters_of(node), columns);
  if (lines.size() > rows_most) lines.resize(rows_most);
  return lines;
}

Facts head_facts(const Sight& sight) {
  const Json& node = *sight.node;
  Facts facts;
  facts.add("daemon", text_or_empty(*sight.document, "daemon") + ", pid " +
                          std::to_string(count_or_zero(*sight.document, "pid")) + ", up " +
                          duration_text(number_or_zero(*sight.document, "uptime_s")) + ", " +
                          counted(count_or_zero(node, "sessions"), "session"));
  facts.add("figures", "of the " + window_text(sight));
  facts.add("cpu", cores_text(node));
  facts.add("memory", node_memory_text(node));
  for (const Meter& meter : meters_of(node)) facts.add(meter.name, meter.text);
  return facts;
}

}  // namespace spdld::cli::top
