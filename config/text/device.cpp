#include "config/text/device.h"

#include <charconv>

namespace spdld::config {

std::optional<DeviceChoice> parse_device(std::string_view text) {
  if (text == "auto") return DeviceChoice{DeviceType::kAuto, {}};
  if (text == "cpu") return DeviceChoice{DeviceType::kCpu, {}};
  if (text == "pinned") return DeviceChoice{DeviceType::kPinned, {}};
  if (text == "cuda") return DeviceChoice{DeviceType::kCuda, {}};
  if (!text.starts_with("cuda:")) return std::nullopt;
  text.remove_prefix(5);
  uint32_t ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (text.size() > 2 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return DeviceChoice{DeviceType::kCuda, ordinal};
}

}  // namespace spdld::config
