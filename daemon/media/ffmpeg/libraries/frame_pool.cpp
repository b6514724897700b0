#include "daemon/media/ffmpeg/libraries/frame_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "daemon/base/byte_buffer.h"

namespace spdld::ffmpeg {
namespace {

constexpr size_t kBlockAlignment = 64;
constexpr size_t kBehindBytes = 16;    // libavcodec's own memory has as many behind a plane
constexpr size_t kReadableBytes = 64;  // of a frame that no decoder fills
constexpr size_t kLargerTimes = 2;     // a block is taken for planes of at least half its size
constexpr size_t kKeptTimes = 8;       // of shrink(): the planes of one large video
constexpr size_t kPlanesMax = 4;
constexpr uint64_t kFramesMin = 4;  // that are asked for at once, and then twice as many: samples seldom begin anew
constexpr uint64_t kFramesOfOthers = 12;  // at most, of a decoder that takes memory of its own
constexpr uint64_t kPixelBytesOfOthers = 3;

struct Plane {
  int stride_bytes = 0;
  size_t bytes = 0;
};
using Planes = std::array<Plane, kPlanesMax>;

bool is_layable(AVPixelFormat format) {
  const AVPixFmtDescriptor* const about = lib::av_pix_fmt_desc_get(format);
  constexpr uint64_t kOthers = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL;
  return about != nullptr && (about->flags & kOthers) == 0;
}

// With what a decoder notes of each block, such as its motion: less than half of the pixels.
uint64_t with_notes(uint64_t pixel_bytes) { return pixel_bytes / 2 * 3; }

// The strides that libavcodec gives its frames by default: multiples of what the decoder asks for, and in each plane
// the same part of the first one's. None of the planes has bytes: the frame has no such layout.
Planes planes_of(AVCodecContext& context, const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  int width = frame.width, height = frame.height;
  int alignments[AV_NUM_DATA_POINTERS] = {};
  lib::avcodec_align_dimensions2(&context, &width, &height, alignments);
  int strides[kPlanesMax] = {};
  const auto is_aligned = [&] {
    for (size_t i = 0; i < kPlanesMax; ++i)
      if (alignments[i] > 0 && strides[i] % alignments[i] != 0) return false;
    return true;
  };
  do {
    if (width <= 0 || lib::av_image_fill_linesizes(strides, format, width) < 0) return {};
    width += width & -width;
  } while (!is_aligned());
  ptrdiff_t wide[kPlanesMax];
  std::copy_n(strides, kPlanesMax, wide);
  size_t bytes[kPlanesMax] = {};
  if (lib::av_image_fill_plane_sizes(bytes, format, height, wide) < 0) return {};
  Planes planes;
  for (size_t i = 0; i < kPlanesMax; ++i) planes[i] = {strides[i], bytes[i]};
  return planes;
}

// The planes of a frame that no decoder fills.
Planes planes_of(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  int strides[kPlanesMax] = {};
  if (lib::av_image_fill_linesizes(strides, format, frame.width) < 0) throw std::bad_alloc();
  ptrdiff_t wide[kPlanesMax];
  for (size_t i = 0; i < kPlanesMax; ++i) {
    constexpr int kMask = static_cast<int>(kBlockAlignment) - 1;
    strides[i] = (strides[i] + kMask) & ~kMask;
    wide[i] = strides[i];
  }
  size_t bytes[kPlanesMax] = {};
  if (lib::av_image_fill_plane_sizes(bytes, format, frame.height, wide) < 0) throw std::bad_alloc();
  Planes planes;
  for (size_t i = 0; i < kPlanesMax; ++i) planes[i] = {strides[i], bytes[i]};
  return planes;
}

}  // namespace

struct FramePool::Inside {
  explicit Inside(media::SampleMemory* memory) : part(memory), own_bytes(memory ? memory->own_bytes() : UINT64_MAX) {}

  struct Block {
    ByteBuffer memory;
    uint8_t* start = nullptr;
    size_t bytes = 0;                // that were asked for
    uint64_t decoder = 0;            // the last one that had it
    uint64_t given_back = 0;         // the later, the greater
    std::shared_ptr<Inside> holder;  // while a frame has it

    bool is_free() const { return holder == nullptr; }
  };

  // The one that this decoder gave back last, as libavcodec's own pools have it, so that what it finds in the memory of
  // a plane depends on nothing but what it decoded.
  Block* own(size_t size) {
    Block* last = nullptr;
    for (const auto& block : blocks)
      if (block->is_free() && block->decoder == decoder && block->bytes == size &&
          (last == nullptr || block->given_back > last->given_back))
        last = block.get();
    return last;
  }

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& block : blocks) sum += block->memory.capacity();
    return sum;
  }

  // Asks for a further block's memory, with what was asked for before.
  bool ask(size_t room, uint64_t frame_bytes) {
    const uint64_t needed = bytes() + ByteBuffer::room_for(room);
    const uint64_t frames = std::bit_ceil(needed / std::max<uint64_t>(frame_bytes, 1) + 1);
    return part.grow_to(with_notes(std::max(needed, std::max(kFramesMin, frames) * frame_bytes)));
  }

  // Null: there is no room for it now.
  Block* blank(size_t size, uint64_t frame_bytes) {
    const size_t room = size + kBlockAlignment;
    Block* best = nullptr;
    for (const auto& block : blocks) {
      const size_t capacity = block->memory.capacity();
      const bool fits = block->is_free() && capacity >= room && capacity / kLargerTimes <= ByteBuffer::room_for(room);
      if (fits && (best == nullptr || capacity < best->memory.capacity())) best = block.get();
    }
    if (best == nullptr) {
      if (!ask(room, frame_bytes)) return nullptr;
      best = blocks.emplace_back(std::make_unique<Block>()).get();
    }
    best->start = best->memory.resize_aligned(size, kBlockAlignment);
    std::memset(best->start, 0, size);
    best->bytes = size;
    best->decoder = decoder;
    return best;
  }

  // A plane's memory, until the reference is given up. Null: there is no memory.
  static AVBufferRef* lend(const std::shared_ptr<Inside>& inside, size_t size, uint64_t frame_bytes) {
    Block* block = inside->own(size);
    if (block == nullptr) block = inside->blank(size, frame_bytes);
    if (block == nullptr) return nullptr;
    AVBufferRef* const reference = lib::av_buffer_create(block->start, size, &Inside::take_back, block, 0);
    if (reference != nullptr) block->holder = inside;
    return reference;
  }

  static void take_back(void* lent, uint8_t*) {
    Block& block = *static_cast<Block*>(lent);
    const std::shared_ptr<Inside> holder = std::move(block.holder);
    block.given_back = ++holder->times;
  }

  static int give(AVCodecContext* context, AVFrame* frame, int flags) noexcept try {
    Inside& inside = *static_cast<Inside*>(context->opaque);
    const Planes planes =
        is_layable(static_cast<AVPixelFormat>(frame->format)) ? planes_of(*context, *frame) : Planes{};
    if (planes.front().bytes == 0) {
      const bool has_room = inside.ask_for_others({frame->width, frame->height});
      return has_room ? lib::avcodec_default_get_buffer2(context, frame, flags) : AVERROR(ENOMEM);
    }
    uint64_t frame_bytes = 0;
    for (const Plane& plane : planes) frame_bytes += plane.bytes;
    for (size_t i = 0; i < kPlanesMax && planes[i].bytes > 0; ++i) {
      frame->buf[i] = lend(inside.self.lock(), planes[i].bytes + kBehindBytes + kBlockAlignment - 1, frame_bytes);
      if (frame->buf[i] == nullptr) return AVERROR(ENOMEM);  // libavcodec gives up the others
      frame->data[i] = frame->buf[i]->data;
      frame->linesize[i] = planes[i].stride_bytes;
    }
    frame->extended_data = frame->data;
    return 0;
  } catch (const std::bad_alloc&) {
    return AVERROR(ENOMEM);
  }

  // Nobody knows how many frames such a decoder holds.
  bool ask_for_others(const Size& picture) {
    const auto pixels =
        static_cast<uint64_t>(std::max(picture.width, 0)) * static_cast<uint64_t>(std::max(picture.height, 0));
    return part.grow_to(bytes() + kFramesOfOthers * kPixelBytesOfOthers * pixels);
  }

  std::weak_ptr<Inside> self;
  media::MemoryPart part;
  const uint64_t own_bytes;  // of the thread
  std::vector<std::unique_ptr<Block>> blocks;
  uint64_t decoder = 0, times = 0;
};

FramePool::FramePool(media::SampleMemory* memory) : inside_(std::make_shared<Inside>(memory)) {
  inside_->self = inside_;
}
FramePool::~FramePool() = default;

bool FramePool::serve(AVCodecContext& context, const Size& picture) {
  ++inside_->decoder;
  if ((context.codec->capabilities & AV_CODEC_CAP_DR1) == 0) return inside_->ask_for_others(picture);
  context.opaque = inside_.get();
  context.get_buffer2 = &Inside::give;
  return true;
}

bool FramePool::pay_for(const AVCodecContext& context, const Size& picture) {
  return (context.codec->capabilities & AV_CODEC_CAP_DR1) != 0 || inside_->ask_for_others(picture);
}

bool FramePool::lend_frame(AVFrame& frame) {
  const Planes planes = planes_of(frame);
  uint64_t frame_bytes = 0;
  for (const Plane& plane : planes) frame_bytes += plane.bytes;
  for (size_t i = 0; i < kPlanesMax && planes[i].bytes > 0; ++i) {
    frame.buf[i] = Inside::lend(inside_, planes[i].bytes + kReadableBytes, frame_bytes);
    if (frame.buf[i] == nullptr) return false;
    frame.data[i] = frame.buf[i]->data;
    frame.linesize[i] = planes[i].stride_bytes;
  }
  frame.extended_data = frame.data;
  return true;
}

void FramePool::shrink(size_t bytes_max) {
  auto& blocks = inside_->blocks;
  std::erase_if(blocks, [&](const auto& block) { return block->is_free() && block->memory.capacity() > bytes_max; });
  size_t free_bytes = 0;
  std::erase_if(blocks, [&](const auto& block) {
    if (!block->is_free()) return false;
    free_bytes += block->memory.capacity();
    return free_bytes > std::min<uint64_t>(kKeptTimes * bytes_max, inside_->own_bytes / 2);
  });
  inside_->part.shrink_to(inside_->bytes());
}

size_t FramePool::bytes() const { return inside_->bytes(); }

}  // namespace spdld::ffmpeg
