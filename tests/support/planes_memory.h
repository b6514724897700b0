// Memory for planes as ImageDecoder::decode_planes() takes it: exactly its size, so that sanitizers see what goes
// beyond.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "daemon/media/image/codecs/planes.h"

namespace spdld::test {

class PlanesMemory {
 public:
  PlanesMemory(const PlanesShape& shape, uint8_t fill) : bytes_(PlanesLayout(shape).bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, PlanesLayout::kAlignment, bytes_) != 0) throw std::bad_alloc();
    memory_.reset(static_cast<uint8_t*>(memory));
    std::memset(memory, fill, bytes_);
  }
  uint8_t* data() { return memory_.get(); }
  const uint8_t* data() const { return memory_.get(); }
  size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t, Free> memory_;
};

// Whether the samples of `some` that decode_planes(box) promises are those of `whole`.
inline bool same_samples(const PlanesView& some, const PlanesView& whole, const Box& box) {
  for (int c = 0; c < whole.shape.planes(); ++c) {
    const int across = c == 0 ? 1 : whole.shape.chroma_across, down = c == 0 ? 1 : whole.shape.chroma_down;
    const int margin = c == 0 ? 0 : 1;
    const Size size = whole.shape.plane(c);
    const auto at = static_cast<size_t>(c);
    const int left = std::max(0, box.x / across - margin), top = std::max(0, box.y / down - margin);
    const int right = std::min(size.width, (box.x + box.width - 1) / across + 1 + margin);
    const int bottom = std::min(size.height, (box.y + box.height - 1) / down + 1 + margin);
    for (int y = top; y < bottom; ++y) {
      const size_t start = static_cast<size_t>(y) * whole.stride_bytes[at] + static_cast<size_t>(left);
      if (std::memcmp(some.plane[at] + start, whole.plane[at] + start, static_cast<size_t>(right - left)) != 0) {
        return false;
      }
    }
  }
  return true;
}

inline bool same_samples(const PlanesMemory& some, const PlanesMemory& whole, const Box& box) {
  PlanesView some_view, whole_view;
  return view_planes(some.data(), some.size(), some_view) && view_planes(whole.data(), whole.size(), whole_view) &&
         same_samples(some_view, whole_view, box);
}

}  // namespace spdld::test
