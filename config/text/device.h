// The device on which batches are handed over, as pipeline files and ATTACH write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spdld::config {

enum class DeviceType : uint8_t {
  kAuto,    // the trainer's GPU where it sees one, else kCpu
  kCpu,     // host memory
  kPinned,  // host memory that the trainer registers with its GPU
  kCuda,    // a GPU of the trainer's
};

struct DeviceChoice {
  DeviceType type = DeviceType::kAuto;
  std::optional<uint32_t> ordinal;  // of kCuda, in the trainer's own order; none: by its local rank
};

inline constexpr std::string_view kDeviceSyntax = R"("auto", "cpu", "pinned", "cuda" or "cuda:N" (N from 0 to 99))";

// None: `text` does not follow kDeviceSyntax.
std::optional<DeviceChoice> parse_device(std::string_view text);

}  // namespace spdld::config
