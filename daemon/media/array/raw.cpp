#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/media/operations.h"

namespace spdld::array {
namespace {

class Raw final : public media::Node {
 public:
  explicit Raw(const media::PlacedOperation& placed)
      : output_(placed.output), dtype_(placed.gives.dtype()), offset_(placed.spec.integer("offset")) {
    bool is_first = true;
    for (const double size : placed.spec.numbers("shape")) {
      varies_ |= is_first && size == 0;
      if (size > 0) value_bytes_ *= static_cast<uint64_t>(size);
      is_first = false;
    }
    value_bytes_ *= config::dtype_bytes(dtype_);
  }

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = store(value.bytes, call.tensors.front());
    return status ? status : media::of_output(output_, status.error());
  }

  Status store(std::span<const uint8_t> bytes, const media::TensorOut& out) const {
    const size_t first = offset_ < 0 ? 0 : static_cast<size_t>(offset_);
    if (first > bytes.size()) return refused(bytes.size());
    std::span<const uint8_t> values = bytes.subspan(first);
    if (varies_) {
      if (values.size() % value_bytes_ != 0) return refused(bytes.size());
      const Result<uint64_t> taken = out.take(values.size() / value_bytes_);
      if (!taken) return taken.error();
      values = values.first(*taken * value_bytes_);
    } else {
      if (offset_ < 0 ? values.size() != value_bytes_ : values.size() < value_bytes_) return refused(bytes.size());
      values = values.first(value_bytes_);
    }
    if (dtype_ == config::DType::kBool && std::any_of(values.begin(), values.end(), [](uint8_t b) { return b > 1; }))
      return Error{Trouble::kContent, "it has a bool that is neither 0 nor 1"};
    if (!values.empty()) std::memcpy(out.at(), values.data(), values.size());
    return Done{};
  }

  Error refused(size_t has) const {
    return {Trouble::kContent, "it has " + std::to_string(has) + " bytes, and " + (varies_ ? "values of " : "") +
                                   std::to_string(value_bytes_) + " bytes are wanted" +
                                   (offset_ < 0 ? "" : " from byte " + std::to_string(offset_) + " on")};
  }

  std::string output_;
  config::DType dtype_;
  int64_t offset_;            // < 0: there is nothing but the values
  bool varies_ = false;       // samples differ in length
  uint64_t value_bytes_ = 1;  // of all values, or of one along the first dimension
};

}  // namespace
}  // namespace spdld::array

namespace spdld::media::ops {

void raw(const PlacedOperation& placed, Nodes& nodes) { nodes.push_back(std::make_unique<array::Raw>(placed)); }

}  // namespace spdld::media::ops
