#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::image {
namespace {

constexpr uint64_t kBlocksUnchecked = uint64_t{1} << 15;

}  // namespace

bool CpuWatch::is_over(uint64_t blocks) {
  if (limits_.cpu_ms_max == 0 && limits_.guard == nullptr) return false;
  if (blocks <= blocks_unchecked_) {
    blocks_unchecked_ -= blocks;
    return false;
  }
  blocks_unchecked_ = kBlocksUnchecked;
  if (limits_.guard != nullptr && !limits_.guard->goes_on()) return true;
  if (limits_.cpu_ms_max == 0) return false;
  const uint64_t now = limits_.cpu_ns();
  if (start_ns_ == 0) start_ns_ = now;
  return now - start_ns_ > limits_.cpu_ms_max * 1'000'000;
}

Error Claim::refusal(const std::string& why) const {
  return {Trouble::kContent, std::string(format) + " whose header claims " + std::to_string(width) + " x " +
                                 std::to_string(height) + " pixels" + why};
}

Error Claim::exceeds(size_t coded_bytes, const std::string& what, const char* can) const {
  return refusal(what + std::to_string(coded_bytes) + " bytes of coded data " + can);
}

Status Claim::check_pixels() const {
  if (uint64_t{width} * height <= static_cast<uint64_t>(kPixelsMax)) return Done{};
  return refusal(", more than the limit of " + std::to_string(kPixelsMax));
}

}  // namespace spdld::image
