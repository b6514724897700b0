#include <string>
#include <type_traits>

#include "daemon/media/image/mask_file.h"
#include "daemon/media/image/nearest_rows.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

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
    auto& work = run.workspace.of<MaskWork>();
    if (const Status read = read_mask(bytes, kBits, size_, run, work); !read) return read;
    write(work, reinterpret_cast<T*>(run.tensors.front().memory));
    return Done{};
  }

  // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
  void write(const MaskWork& work, T* out) const {
    const auto row = [&](int y) { return reinterpret_cast<const Stored*>(work.rows.row(y)); };
    write_nearest(work.map, work.rows.picture.width, fill_, row, out);
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
