#include "daemon/media/ffmpeg/packets/deinterlace.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace spdld::ffmpeg {
namespace {

constexpr int kNear = 5077, kFar = 981, kShift = 13;  // 2 (kNear - kFar) = 2^kShift

// Lines of the field: two above the line that is wanted, and two below it.
using Around = std::array<const uint8_t*, 4>;

uint8_t to_byte(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

int interpolated(int a, int b, int c, int d) {
  return (kNear * (b + c) - kFar * (a + d) + (1 << (kShift - 1))) >> kShift;
}

void fill_bytes(const Around& around, size_t count, uint8_t* out) {
  const auto [a, b, c, d] = around;
  for (size_t i = 0; i < count; ++i) out[i] = to_byte(interpolated(a[i], b[i], c[i], d[i]));
}

// Sums of 16 bits with the coefficients are below 2^31.
void fill_words(const Around& around, size_t count, int most, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    std::array<uint16_t, 4> sample;
    for (size_t n = 0; n < sample.size(); ++n) std::memcpy(&sample[n], around[n] + 2 * i, sizeof(uint16_t));
    const int value = interpolated(sample[0], sample[1], sample[2], sample[3]);
    const auto word = static_cast<uint16_t>(std::clamp(value, 0, most));
    std::memcpy(out + 2 * i, &word, sizeof word);
  }
}

}  // namespace

void fill_field(const Lines& woven, const Samples& samples, bool has_even_lines, uint8_t* out,
                size_t out_stride_bytes) {
  const int first = woven.height < 2 || has_even_lines ? 0 : 1;
  const int last = (woven.height - 1 - first) / 2 * 2 + first;
  const auto line = [&](int y) { return woven.first + woven.stride_bytes * std::clamp(y, first, last); };
  for (int y = 0; y < woven.height; ++y, out += out_stride_bytes) {
    if (y % 2 == first % 2) {
      std::memcpy(out, line(y), woven.line_bytes);
      continue;
    }
    const Around around = {line(y - 3), line(y - 1), line(y + 1), line(y + 3)};
    if (samples.bytes == 1)
      fill_bytes(around, woven.line_bytes, out);
    else
      fill_words(around, woven.line_bytes / 2, samples.most, out);
  }
}

}  // namespace spdld::ffmpeg
