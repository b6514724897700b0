#include "daemon/source/lists/group_list.h"

#include <algorithm>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/lists/list_file.h"

namespace spdld::source {
namespace {

constexpr uint64_t kNoLineYet = UINT64_MAX;

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

struct GroupLines {
  std::vector<NamedLine> lines;
  std::vector<std::string_view> groups;  // by line
};

// The text must outlive the lines.
GroupLines lines_of(std::string_view text, const std::string& what) {
  GroupLines given;
  for_each_line(text, [&](std::string_view line, uint64_t number) {
    const size_t tab = line.rfind('\t'), mark = tab == std::string_view::npos ? line.rfind(',') : tab;
    if (mark == std::string_view::npos || mark == 0 || mark + 1 == line.size())
      refuse(what + ", line " + std::to_string(number) +
             ": a line is a sample's name or id, a TAB or comma, and the name of its group.");
    given.lines.push_back({line.substr(0, mark), number});
    given.groups.push_back(line.substr(mark + 1));
  });
  return given;
}

}  // namespace

std::vector<uint64_t> read_sample_groups(const std::string& path, std::string_view key, const Listing& listing,
                                         Stamps& stamps, const std::stop_token& stop,
                                         const std::function<uint64_t(std::string_view)>& number_of) {
  const std::string what = std::string(key) + ": " + path;
  const std::string text = read_list_file(path, what, listing, stamps);
  const auto [lines, groups] = lines_of(text, what);
  std::vector<uint64_t> line_of(listing.size(), kNoLineYet);
  uint64_t again = kNoLineYet, again_id = 0;  // the first line that gives a sample another group
  for (const NamedSample& sample : find_samples(lines, what, listing, stop)) {
    const uint64_t other = std::exchange(line_of[sample.id], sample.line);
    if (other == kNoLineYet || groups[other] == groups[sample.line]) continue;
    const uint64_t later = std::max(other, sample.line);
    if (later < again) {
      again = later;
      again_id = sample.id;
    }
  }
  if (again != kNoLineYet)
    refuse(what + ", line " + std::to_string(lines[again].line) + ": sample " + std::to_string(again_id) + " (" +
           shown(listing.name(again_id)) + ") has another group in another line: name one group for each sample.");
  const auto missing = std::count(line_of.begin(), line_of.end(), kNoLineYet);
  if (missing > 0) {
    const auto first = static_cast<uint64_t>(std::find(line_of.begin(), line_of.end(), kNoLineYet) - line_of.begin());
    refuse(what + " has no group for " + std::to_string(missing) + " of " + std::to_string(listing.size()) +
           " samples, the first of them " + shown(listing.name(first)) + ": add a line for each of them.");
  }
  std::vector<uint64_t> numbers;
  numbers.reserve(groups.size());
  for (const std::string_view group : groups) numbers.push_back(number_of(group));
  for (uint64_t& line : line_of) line = numbers[line];
  return line_of;
}

}  // namespace spdld::source
