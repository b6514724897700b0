#include "daemon/media/image/codecs/gif/frame_count.h"

#include <algorithm>
#include <string>

#include "daemon/media/image/codecs/gif/reader.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr uint8_t kImage = 0x2C, kExtension = 0x21, kTrailer = 0x3B;
constexpr size_t kScreenBytes = 13, kImageBytes = 9;

class Blocks {
 public:
  explicit Blocks(std::span<const uint8_t> gif) : rest_(gif) {}

  bool is_at_end() const { return rest_.empty(); }
  bool skip(size_t count) {
    const bool is_there = count <= rest_.size();
    rest_ = rest_.subspan(std::min(count, rest_.size()));
    return is_there;
  }
  // The next byte; 0 behind the end.
  uint8_t take() {
    const uint8_t byte = rest_.empty() ? 0 : rest_.front();
    skip(1);
    return byte;
  }
  // The header of the screen or of an image, and its palette. The byte `at` says how large that is.
  bool skip_header(size_t bytes, size_t at) {
    if (rest_.size() < bytes) return false;
    const uint8_t flags = rest_[at];
    const size_t palette = (flags & 0x80) != 0 ? size_t{3} << ((flags & 7) + 1) : 0;
    return skip(bytes + palette);
  }
  // Skips a chain of blocks. Each block begins with its length, and an empty block ends the chain.
  void skip_chain() {
    while (const uint8_t length = take()) skip(length);
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace

Result<uint64_t> gif_frame_count(std::span<const uint8_t> gif, uint64_t most) {
  Blocks blocks(gif);
  if (!blocks.skip_header(kScreenBytes, 10)) return uint64_t{0};
  uint64_t frames = 0;
  while (frames < most && !blocks.is_at_end()) {
    const uint8_t kind = blocks.take();
    if (kind == kTrailer) break;
    if (kind != kImage && kind != kExtension)
      return damaged(kGifName, "something else than a frame stands behind its frame " + std::to_string(frames - 1));
    if (kind == kImage && !blocks.skip_header(kImageBytes, 8)) break;
    if (kind == kImage) ++frames;
    blocks.skip(1);  // how many bits a code has, or the extension's kind
    blocks.skip_chain();
  }
  return frames;
}

}  // namespace spdld::image
