// Holds the decoding of one picture to its limits, and has the sentences that refuse what goes beyond them. Every codec
// uses these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "daemon/base/result.h"
#include "daemon/media/cpu_budget.h"

namespace spdld::image {

inline constexpr int64_t kPixelsMax = 178'956'970;          // Pillow's limit for decompression bombs
inline constexpr size_t kMemoryKeptMax = size_t{32} << 20;  // by a codec, from picture to picture

inline constexpr char kTooMuchMemory[] =
    "decoding it needs more memory than the operator's limit (limits.sample_bytes_max)";
using media::kTooMuchCpuTime;

// Holds one decoding to DecodeLimits::cpu_ms_max, and ends it where nobody wants it any more. For the thread that
// decodes.
class CpuWatch {
 public:
  explicit CpuWatch(const media::DecodeLimits& limits) : limits_(limits) {}

  // The next picture begins.
  void restart() { blocks_unchecked_ = start_ns_ = 0; }
  // Called before each piece of the work, with its number of blocks of 64 samples. True: the limit is reached. The
  // clock costs a system call, so that it is looked at once in 32,768 blocks.
  bool is_over(uint64_t blocks);

 private:
  const media::DecodeLimits limits_;
  uint64_t blocks_unchecked_ = 0;  // until the next look
  uint64_t start_ns_ = 0;          // 0: not looked at yet
};

// The size that a picture's header claims. Its errors are kContent.
struct Claim {
  const char* format;  // "a PNG"
  uint32_t width, height;

  // "a PNG whose header claims 13000 x 13000 pixels", and then `why`.
  Error refusal(const std::string& why) const;
  // The claim is more than `coded_bytes` of coded data `can` ("can hold"); `what` says what else is claimed, or
  // nothing.
  Error exceeds(size_t coded_bytes, const std::string& what, const char* can) const;
  // Whether it is at most kPixelsMax.
  Status check_pixels() const;
};

}  // namespace spdld::image
