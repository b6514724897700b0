#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>

#include "daemon/base/result.h"
#include "daemon/media/image/geometry/nearest_rows.h"
#include "daemon/media/image/operations/views/mask_colours.h"
#include "daemon/media/image/operations/views/mask_file.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

std::optional<MaskColours> colours_of(const media::PlacedOperation& placed) {
  const auto has = [&](const char* name) {
    return placed.spec.parameters.contains(name) && !placed.spec.text(name).empty();
  };
  if (has("colours")) return MaskColours::of_texts(placed.spec.text("colours"));
  if (!has("colours_file")) return std::nullopt;
  if (placed.files == nullptr)
    throw SetupError(Trouble::kUnsupported,
                     "output '" + placed.output + "': no file beside the data set can be read here");
  const std::string& path = placed.spec.text("colours_file");
  std::optional<MaskColours> colours;
  placed.files->read(path, "txt, csv, tsv", [&](const std::string& name, std::span<const uint8_t> bytes) {
    if (colours) throw SetupError(Trouble::kUsage, path + " holds several files of colours: name one of them.");
    colours = MaskColours::of_file(name, bytes);
  });
  if (!colours) throw SetupError(Trouble::kUsage, "there is no file of colours in " + path + ".");
  return colours;
}

// Writes masks as elements of type T.
template <typename T>
class DecodeMask final : public media::Node {
 public:
  explicit DecodeMask(const media::PlacedOperation& placed)
      : output_(placed.output),
        fill_(static_cast<T>(placed.spec.integer("fill"))),
        colours_(colours_of(placed)),
        size_{static_cast<int>(placed.gives.dimensions[1].value()),
              static_cast<int>(placed.gives.dimensions[0].value())} {
    if (colours_ && placed.spec.parameters.contains("other") && placed.spec.integer("other") >= 0)
      other_ = static_cast<uint32_t>(placed.spec.integer("other"));
    const uint32_t largest = colours_ ? std::max(colours_->largest(), other_.value_or(0)) : 0;
    if (sizeof(T) == 1 && largest > UINT8_MAX)
      throw SetupError(Trouble::kUsage, "output '" + output_ + "': decode-mask's colours have values up to " +
                                            std::to_string(largest) +
                                            ", which uint8 can't hold: write dtype = \"uint16\" or \"int64\".");
  }

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = decode(value.bytes, call);
    return status ? status : media::of_output(output_, status.error());
  }
  std::vector<std::string> code() const override { return {png_code()}; }

 private:
  static constexpr int kBits = sizeof(T) == 1 ? 8 : 16;
  using Stored = std::conditional_t<kBits == 8, uint8_t, uint16_t>;

  Status decode(std::span<const uint8_t> bytes, const media::Call& call) const {
    auto& work = call.workspace.of<MaskWork>();
    const Pixels pixels = colours_ ? Pixels{Colours::kRgb, 8} : Pixels{Colours::kStored, kBits};
    if (const Status read = read_mask(bytes, pixels, size_, call, work); !read) return read;
    auto* const out = reinterpret_cast<T*>(call.tensors.front().memory);
    if (!colours_) {
      write(
          work, [&](int y) { return reinterpret_cast<const Stored*>(work.rows.row(y)); }, out);
      return Done{};
    }
    const auto width = static_cast<size_t>(work.rows.picture.width);
    const size_t value_bytes = width * static_cast<size_t>(work.rows.picture.height) * sizeof(Stored);
    if (!work.memory.add(ByteBuffer::room_for(value_bytes))) return media::no_room();
    auto* const values = reinterpret_cast<Stored*>(work.values.resize(value_bytes));
    const Status converted = colours_->convert(work.rows, other_, values);
    if (converted)
      write(
          work, [&](int y) { return values + width * static_cast<size_t>(y); }, out);
    work.values.shrink(kMemoryKeptMax);
    return converted;
  }

  // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
  template <typename Row>
  void write(const MaskWork& work, const Row& row, T* out) const {
    write_nearest(work.map, work.rows.picture.width, fill_, row, out);
  }

  std::string output_;
  T fill_;
  std::optional<MaskColours> colours_;  // none: the values are stored
  std::optional<uint32_t> other_;       // the value of colours that are not among these
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void decode_mask(const PlacedOperation& placed, Nodes& nodes) {
  switch (placed.gives.dtype()) {
    case config::DType::kUint16:
      return nodes.push_back(std::make_unique<image::DecodeMask<uint16_t>>(placed));
    case config::DType::kInt64:
      return nodes.push_back(std::make_unique<image::DecodeMask<int64_t>>(placed));
    default:
      return nodes.push_back(std::make_unique<image::DecodeMask<uint8_t>>(placed));
  }
}

}  // namespace spdld::media::ops
