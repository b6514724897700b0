#include <algorithm>
#include <cstring>

#include "daemon/mixing/box_rows.h"
#include "daemon/mixing/operations.h"

namespace spdld::mixing {
namespace {

// Objects of the partner lie on the sample's own picture, where they lie on the partner's (Ghiasi et al. 2021). Which
// of them, is drawn as torchvision's reference for detection draws it: as many numbers as there are objects, each the
// place of one. The sample's own objects come first, and lose the pixels that are covered.
class CopyPaste final : public Operation, public Lists {
 public:
  explicit CopyPaste(const PlacedOperation& placed)
      : shape_(shape_of(placed.images.front())),
        format_(placed.boxes),
        pixels_min_(static_cast<uint64_t>(placed.spec.integer("min_pixels"))) {
    const bool is_planar = layout_of(placed.images.front()) == config::Layout::kNchw;
    const uint64_t element = config::dtype_bytes(placed.images.front().dtype());
    pixel_bytes_ = is_planar ? element : shape_.channels * element;
    planes_ = is_planar ? shape_.channels : 1;
  }

 private:
  uint64_t pixels() const { return shape_.height * shape_.width; }

  Mix draw(const Draws& draws) const override {
    Draw draw = draws.named(draw_key("copy-paste"));
    Mix mix;
    mix.seed = draw.bits64();
    return mix;
  }

  void mix(const Mix& mix, size_t, uint8_t* own, std::span<const uint8_t* const> partners) const override {
    for (uint64_t plane = 0; plane < planes_; ++plane)
      for (uint64_t pixel = 0; pixel < pixels(); ++pixel) {
        const uint64_t at = (plane * pixels() + pixel) * pixel_bytes_;
        if (mix.shade[pixel] != 0) std::memcpy(own + at, partners.front() + at, pixel_bytes_);
      }
  }

  // --- lists ---

  const Lists* lists() const override { return this; }

  void choose(const Mix& mix, const ListSources& sources, uint64_t most, std::span<uint8_t> shade,
              std::vector<TakenRow>& taken) const override {
    const size_t first = taken.size();
    const uint32_t count = sources.boxes[1].count;
    for (uint32_t i = 0; i < count; ++i)
      taken.push_back({1, static_cast<uint32_t>(((mix_bits(mix.seed + i) >> 32) * count) >> 32)});
    const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(first);
    const auto is_before = [](const TakenRow& one, const TakenRow& other) { return one.place < other.place; };
    const auto is_same = [](const TakenRow& one, const TakenRow& other) { return one.place == other.place; };
    std::sort(begin, taken.end(), is_before);
    taken.erase(std::unique(begin, taken.end(), is_same), taken.end());
    taken.resize(std::min(taken.size(), first + most));
    const size_t pasted = taken.size() - first;
    cast(sources, std::span(taken).subspan(first), shade);
    for (uint32_t place = 0; place < sources.boxes[0].count && taken.size() < first + most; ++place)
      if (left_of(sources.mask_of({0, place}, pixels()), shade) >= pixels_min_) taken.push_back({0, place});
    std::rotate(taken.begin() + static_cast<std::ptrdiff_t>(first),
                taken.begin() + static_cast<std::ptrdiff_t>(first + pasted), taken.end());
  }

  void cast(const ListSources& sources, std::span<const TakenRow> taken, std::span<uint8_t> shade) const override {
    std::fill(shade.begin(), shade.end(), uint8_t{0});
    for (const TakenRow& row : taken) {
      if (row.from == 0) continue;
      const uint8_t* const mask = sources.mask_of(row, pixels());
      for (uint64_t pixel = 0; pixel < pixels(); ++pixel) shade[pixel] |= mask[pixel];
    }
  }

  uint64_t left_of(const uint8_t* mask, std::span<const uint8_t> shade) const {
    uint64_t left = 0;
    for (uint64_t pixel = 0; pixel < pixels(); ++pixel) left += mask[pixel] != 0 && shade[pixel] == 0 ? 1 : 0;
    return left;
  }

  // A box whose object has lost pixels is the box around the other ones.
  void write_box(const Mix& mix, uint32_t from, const uint8_t* box, const uint8_t* mask, uint8_t* out) const override {
    std::memcpy(out, box, kBoxBytes);
    if (from != 0) return;
    uint64_t left = shape_.width, top = shape_.height, right = 0, bottom = 0;
    bool is_cut = false;
    for (uint64_t y = 0, pixel = 0; y < shape_.height; ++y)
      for (uint64_t x = 0; x < shape_.width; ++x, ++pixel) {
        if (mask[pixel] == 0) continue;
        is_cut = is_cut || mix.shade[pixel] != 0;
        if (mix.shade[pixel] != 0) continue;
        left = std::min(left, x);
        right = std::max(right, x + 1);
        top = std::min(top, y);
        bottom = std::max(bottom, y + 1);
      }
    if (!is_cut || right == 0) return;
    write_row(
        format_,
        {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right), static_cast<float>(bottom)},
        out);
  }

  void write_mask(const Mix& mix, uint32_t from, const uint8_t* mask, uint8_t* out) const override {
    for (uint64_t pixel = 0; pixel < pixels(); ++pixel)
      out[pixel] = from == 0 && mix.shade[pixel] != 0 ? uint8_t{0} : mask[pixel];
  }

  config::PictureShape shape_;
  BoxFormat format_;
  uint64_t pixels_min_;
  uint64_t pixel_bytes_ = 0, planes_ = 0;
};

}  // namespace

namespace ops {

std::unique_ptr<Operation> copy_paste(const PlacedOperation& placed) { return std::make_unique<CopyPaste>(placed); }

}  // namespace ops

}  // namespace spdld::mixing
