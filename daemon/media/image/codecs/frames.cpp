#include "daemon/media/image/codecs/frames.h"

#include <cmath>

#include "daemon/media/image/codecs/image_decoder.h"

namespace spdld::image {

// numpy multiplies the number of the frame by the step, and puts the last frame at the end whatever that gives.
void spread_frames(uint64_t count, int wanted, std::vector<int>& frames) {
  const auto last = static_cast<double>(count - 1);
  const double step = wanted > 1 ? last / (wanted - 1) : 0;
  frames.clear();
  for (int i = 0; i < wanted; ++i) {
    const bool is_end = wanted > 1 && i == wanted - 1;
    frames.push_back(static_cast<int>(std::nearbyint(is_end ? last : i * step)));
  }
}

Error one_picture_of(const std::string& name) {
  return {Trouble::kUnsupported, "several frames are wanted, and this spdld decodes one picture of " + name};
}

Status ImageDecoder::decode_frames(std::span<const int>, const Box& box, PixelRows& rows, const FrameSink& sink) {
  const Status decoded = decode(box, rows);
  return decoded ? sink(rows) : decoded;
}

Status check_frame_count(const std::string& name, uint64_t count, const std::string& noun) {
  if (count <= kFramesMax) return Done{};
  return Error{Trouble::kContent, name + " of more than " + std::to_string(kFramesMax) + " " + noun +
                                      "s, where several of them are wanted: cut it into shorter ones"};
}

}  // namespace spdld::image
