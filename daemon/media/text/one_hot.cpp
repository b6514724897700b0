#include <algorithm>

#include "daemon/media/operations.h"
#include "daemon/media/text/class_vector.h"

namespace spdld::text {
namespace {

template <typename T>
class OneHot final : public media::Node {
 public:
  explicit OneHot(const media::PlacedOperation& placed)
      : output_(placed.output), classes_(placed.spec.integer("classes")) {
    const double shared = placed.spec.number("smoothing") / static_cast<double>(classes_);
    low_ = static_cast<T>(shared);
    high_ = static_cast<T>(1 - placed.spec.number("smoothing") + shared);
  }

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    if (value.integer < 0 || value.integer >= classes_)
      return media::of_output(output_, {Trouble::kContent, no_class(value.integer, classes_)});
    T* const out = elements_of<T>(call);
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

void one_hot(const PlacedOperation& placed, Nodes& nodes) { text::add_class_node<text::OneHot>(placed, nodes); }

}  // namespace spdld::media::ops
