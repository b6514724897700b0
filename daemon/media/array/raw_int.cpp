#include <cstdint>
#include <limits>

#include "daemon/base/formats/little_endian.h"
#include "daemon/media/operations.h"

namespace spdld::array {
namespace {

class RawInt final : public media::Node {
 public:
  explicit RawInt(const media::PlacedOperation& placed)
      : output_(placed.output),
        size_(config::dtype_bytes(config::dtype_named(placed.spec.text("dtype")))),
        is_signed_(placed.spec.text("dtype").front() == 'i'),
        offset_(placed.spec.integer("offset")) {}

 private:
  Status run(media::Value& value, const media::Call&) const override {
    const size_t first = offset_ < 0 ? 0 : static_cast<size_t>(offset_), bytes = value.bytes.size();
    if (first > bytes || bytes - first < size_ || (offset_ < 0 && bytes != size_))
      return bad("it has " + std::to_string(bytes) + " bytes, and an integer of " + std::to_string(size_) +
                 " bytes is wanted" + (offset_ < 0 ? "" : " at byte " + std::to_string(offset_)));
    const uint64_t bits = little_endian(value.bytes.subspan(first, size_));
    const unsigned unused = static_cast<unsigned>(64 - 8 * size_);
    if (is_signed_) {
      value.integer = static_cast<int64_t>(bits << unused) >> unused;
    } else if (bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return bad(std::to_string(bits) + " is beyond an int64");
    } else {
      value.integer = static_cast<int64_t>(bits);
    }
    return Done{};
  }

  Error bad(std::string clause) const { return media::of_output(output_, {Trouble::kContent, std::move(clause)}); }

  std::string output_;
  size_t size_;
  bool is_signed_;
  int64_t offset_;  // < 0: there is nothing but the integer
};

}  // namespace
}  // namespace spdld::array

namespace spdld::media::ops {

void raw_int(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<array::RawInt>(placed)); }

}  // namespace spdld::media::ops
