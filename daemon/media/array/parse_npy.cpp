#include <algorithm>
#include <optional>

#include "daemon/base/formats/npy.h"
#include "daemon/media/operations.h"

namespace spdld::array {
namespace {

Error refused(std::string clause) { return {Trouble::kContent, "the .npy file can't be taken: " + std::move(clause)}; }

class ParseNpy final : public media::Node {
 public:
  explicit ParseNpy(const media::PlacedOperation& placed) : output_(placed.output), dtype_(placed.gives.dtype()) {
    if (const int64_t length = placed.spec.integer("length"); length != 0) length_ = static_cast<uint64_t>(length);
    for (const double size : placed.spec.numbers("shape")) value_shape_.push_back(static_cast<uint64_t>(size));
    for (const uint64_t size : value_shape_) value_elements_ *= size;
  }

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = store(value.bytes, call.tensors.front());
    return status ? status : media::of_output(output_, status.error());
  }

  Status store(std::span<const uint8_t> file, const media::TensorOut& out) const {
    const Result<Npy> npy = read_npy(file);
    if (!npy) return refused(npy.error().message);
    if (Status status = check(*npy); !status) return status;
    uint64_t length = npy->shape.front();
    if (!length_) {
      const Result<uint64_t> taken = out.take(length);
      if (!taken) return taken.error();
      length = *taken;
    }
    copy_elements(*npy, length * value_elements_, out.at());
    return Done{};
  }

  Status check(const Npy& npy) const {
    if (npy.dtype != dtype_)
      return refused("its dtype is " + std::string(config::dtype_name(npy.dtype)) + ", not " +
                     std::string(config::dtype_name(dtype_)));
    const auto& shape = npy.shape;
    const bool is_wanted = !shape.empty() && (!length_ || shape.front() == *length_) &&
                           std::equal(shape.begin() + 1, shape.end(), value_shape_.begin(), value_shape_.end());
    if (!is_wanted) return refused("its shape is " + shape_text(shape) + ", not " + wanted_shape());
    if (npy.is_fortran && shape.size() > 1)
      return refused("it is in Fortran's order; save numpy.ascontiguousarray of it");
    if (dtype_ == config::DType::kBool &&
        std::any_of(npy.data.begin(), npy.data.end(), [](uint8_t b) { return b > 1; }))
      return refused("it has a bool that is neither 0 nor 1");
    return Done{};
  }

  std::string wanted_shape() const {
    std::vector<uint64_t> shape = {length_.value_or(0)};
    shape.insert(shape.end(), value_shape_.begin(), value_shape_.end());
    std::string text = shape_text(shape);
    if (!length_) text.replace(1, 1, "n");
    return text;
  }

  std::string output_;
  config::DType dtype_;
  std::optional<uint64_t> length_;  // none: it differs from sample to sample
  std::vector<uint64_t> value_shape_;
  uint64_t value_elements_ = 1;
};

}  // namespace
}  // namespace spdld::array

namespace spdld::media::ops {

void parse_npy(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<array::ParseNpy>(placed));
}

}  // namespace spdld::media::ops
