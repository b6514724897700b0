#include <algorithm>

#include "daemon/media/operations.h"

namespace spdld::text {
namespace {

template <typename T>
class OneHot final : public media::Node {
 public:
  explicit OneHot(const media::Part& part) : output_(part.output), classes_(part.spec.integer("classes")) {
    const double shared = part.spec.number("smoothing") / static_cast<double>(classes_);
    low_ = static_cast<T>(shared);
    high_ = static_cast<T>(1 - part.spec.number("smoothing") + shared);
  }

 private:
  Status run(media::Value& value, const media::Run& run) const override {
    if (value.integer < 0 || value.integer >= classes_)
      return media::of_output(output_, {Trouble::kContent, std::to_string(value.integer) + " is no class from 0 to " +
                                                               std::to_string(classes_ - 1)});
    // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
    T* const out = reinterpret_cast<T*>(run.tensors.front().memory);
    std::fill_n(out, classes_, low_);
    out[value.integer] = high_;
    return Done{};
  }

  std::string output_;
  int64_t classes_;
  T low_, high_;
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void one_hot(const Part& part, Nodes& nodes) {
  switch (part.gives.dtype) {
    case config::DType::kFloat32:
      return nodes.push_back(std::make_unique<text::OneHot<float>>(part));
    case config::DType::kFloat64:
      return nodes.push_back(std::make_unique<text::OneHot<double>>(part));
    default:
      return nodes.push_back(std::make_unique<text::OneHot<uint8_t>>(part));
  }
}

}  // namespace spdld::media::ops
