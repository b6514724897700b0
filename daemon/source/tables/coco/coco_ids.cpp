#include "daemon/source/tables/coco/coco_ids.h"

#include <charconv>

namespace spdld::source {

std::optional<uint64_t> CocoIds::whole_number(const JsonValue& value) {
  constexpr double kExactMax = 1ull << 53;  // beyond it a double is no certain number
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  const bool is_sound =
      value.kind == JsonKind::kNumber && error == std::errc() && stopped == end && number >= 0 && number <= kExactMax;
  if (!is_sound || number != static_cast<double>(static_cast<uint64_t>(number))) return std::nullopt;
  return static_cast<uint64_t>(number);
}

}  // namespace spdld::source
