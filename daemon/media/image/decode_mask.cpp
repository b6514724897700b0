#include <cstring>
#include <string>

#include "daemon/media/image/image_decoder.h"
#include "daemon/media/image/sniff.h"
#include "daemon/media/image/view.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// The objects that a decode thread keeps for masks.
struct MaskWork {
  explicit MaskWork(const media::DecodeLimits& limits) : decoder(make_png_decoder(limits)) {}
  void shrink(size_t bytes_max) { rows.memory.shrink(bytes_max); }

  std::unique_ptr<ImageDecoder> decoder;
  PixelRows rows;
  NearestMap map;  // from the tensor to the mask
};

std::string text_of(const Size& size) { return std::to_string(size.width) + " x " + std::to_string(size.height); }

// Writes masks as elements of type T.
template <typename T>
class DecodeMask final : public media::Node {
 public:
  explicit DecodeMask(const media::Part& part)
      : output_(part.output),
        fill_(static_cast<T>(part.spec.integer("fill"))),
        size_{static_cast<int>(part.gives.dimensions[1].value()), static_cast<int>(part.gives.dimensions[0].value())} {}

  Status run(media::Value& value, const media::Run& run) const override {
    const Status status = decode(value.bytes, run);
    return status ? status : media::of_output(output_, status.error());
  }
  std::vector<std::string> code() const override { return {png_code()}; }

 private:
  static constexpr int kBits = sizeof(T) == 1 ? 8 : 16;
  using Stored = std::conditional_t<kBits == 8, uint8_t, uint16_t>;

  Status decode(std::span<const uint8_t> bytes, const media::Run& run) const {
    View* const view = followed(run);
    if (view == nullptr || view->end() != size_)
      return Error{Trouble::kInternal, "the geometry of sample " + std::to_string(run.sample) + " is not its view's"};
    if (!begins_like_png(bytes)) return Error{Trouble::kContent, "a mask must be a PNG, and this content is none"};
    auto& work = run.workspace.of<MaskWork>();
    const Result<Size> size = work.decoder->open(bytes, false, true, {Colours::kStored, kBits});
    if (!size) return size.error();
    if (*size != view->picture)
      return Error{Trouble::kContent, "the mask has " + text_of(*size) + " pixels, and its picture has " +
                                          text_of(view->picture) + ": both must have the same size"};
    const Box whole{0, 0, size->width, size->height};
    if (const Status decoded = work.decoder->decode(whole, work.rows); !decoded) return decoded;
    nearest(*view, work.map);
    write(work, reinterpret_cast<T*>(run.tensors.front().memory));
    return Done{};
  }

  // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
  void write(const MaskWork& work, T* out) const {
    if (work.map.is_warped) return write_pixels(work, out);
    for (const int32_t line : work.map.lines) {
      if (line == kOutside) {
        out = std::fill_n(out, work.map.columns.size(), fill_);
        continue;
      }
      const auto* row = reinterpret_cast<const Stored*>(work.rows.row(line));
      for (const int32_t column : work.map.columns) *out++ = column == kOutside ? fill_ : static_cast<T>(row[column]);
    }
  }

  void write_pixels(const MaskWork& work, T* out) const {
    const int width = work.rows.picture.width;
    for (const int32_t pixel : work.map.pixels) {
      const auto* row = pixel == kOutside ? nullptr : reinterpret_cast<const Stored*>(work.rows.row(pixel / width));
      *out++ = pixel == kOutside ? fill_ : static_cast<T>(row[pixel % width]);
    }
  }

  std::string output_;
  T fill_;
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void decode_mask(const Part& part, Nodes& nodes) {
  switch (part.gives.dtype) {
    case config::DType::kUint16:
      return nodes.push_back(std::make_unique<image::DecodeMask<uint16_t>>(part));
    case config::DType::kInt64:
      return nodes.push_back(std::make_unique<image::DecodeMask<int64_t>>(part));
    default:
      return nodes.push_back(std::make_unique<image::DecodeMask<uint8_t>>(part));
  }
}

}  // namespace spdld::media::ops
