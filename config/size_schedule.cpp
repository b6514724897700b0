#include "config/size_schedule.h"

#include <charconv>
#include <optional>
#include <string>

#include "config/parameter.h"

namespace spdld::config {
namespace {

// The number that the text is; none: it is something else.
std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::optional<PictureSize> square_or_size(std::string_view text) {
  if (const auto side = whole_number(text); side && *side > 0 && *side <= INT32_MAX)
    return PictureSize{static_cast<int64_t>(*side), static_cast<int64_t>(*side)};
  return size_in(text);
}

}  // namespace

std::vector<ScheduledSize> schedule_in(std::string_view text) {
  std::vector<ScheduledSize> schedule;
  uint64_t before = 0;
  for (const std::string& name : names_in(text)) {
    const size_t colon = name.find(':');
    if (colon == std::string::npos) return {};
    const auto epoch = whole_number(std::string_view(name).substr(0, colon));
    const auto size = square_or_size(std::string_view(name).substr(colon + 1));
    if (!epoch || *epoch <= before || !size) return {};
    before = *epoch;
    schedule.push_back({*epoch, *size});
  }
  return schedule;
}

std::vector<ScheduledSize> schedule_of(const OperationSpec& spec) {
  if (!spec.parameters.contains(std::string(kByEpoch))) return {};
  std::vector<ScheduledSize> schedule = schedule_in(spec.text(kByEpoch));
  if (!schedule.empty()) schedule.insert(schedule.begin(), {0, picture_size(spec)});
  return schedule;
}

std::vector<ScheduledSize> schedule_of(std::span<const OperationSpec> ops) {
  for (const OperationSpec& op : ops) {
    if (auto schedule = schedule_of(op); !schedule.empty()) return schedule;
    if (auto held = schedule_of(std::span(op.ops)); !held.empty()) return held;
  }
  return {};
}

std::vector<ScheduledSize> schedule_of(std::span<const OutputSpec> outputs) {
  for (const OutputSpec& output : outputs)
    if (auto schedule = schedule_of(std::span(output.ops)); !schedule.empty()) return schedule;
  return {};
}

uint32_t scheduled_at(std::span<const ScheduledSize> schedule, uint64_t epoch) {
  uint32_t number = 0;
  while (number + 1 < schedule.size() && schedule[number + 1].epoch <= epoch) ++number;
  return number;
}

}  // namespace spdld::config
