#include <algorithm>

#include "daemon/media/operations.h"
#include "daemon/media/text/class_vector.h"
#include "daemon/media/text/list_value.h"

namespace spdld::text {
namespace {

template <typename T>
class MultiHot final : public media::Node {
 public:
  explicit MultiHot(const media::PlacedOperation& placed)
      : output_(placed.output),
        classes_(placed.spec.integer("classes")),
        reads_json_(placed.takes.bytes().origin == config::Origin::kJson) {}

 private:
  bool reads_json() const override { return reads_json_; }

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = store(value, call);
    return status ? status : media::of_output(output_, status.error());
  }

  Status store(const media::Value& value, const media::Call& call) const {
    auto& work = call.workspace.of<ListWork>();
    const Result<uint64_t> listed = read_list_value(value, {config::DType::kInt64, 0, reads_json_}, work);
    if (!listed) return listed.error();
    T* const out = elements_of<T>(call);
    std::fill_n(out, classes_, T{0});
    const auto* const numbers = reinterpret_cast<const int64_t*>(work.memory.data());
    for (uint64_t i = 0; i < *listed; ++i) {
      if (numbers[i] < 0 || numbers[i] >= classes_)
        return Error{Trouble::kContent, "element [" + std::to_string(i) + "]: " + no_class(numbers[i], classes_)};
      out[numbers[i]] = T{1};
    }
    return Done{};
  }

  std::string output_;
  int64_t classes_;
  bool reads_json_;
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void multi_hot(const PlacedOperation& placed, Nodes& nodes) { text::add_class_node<text::MultiHot>(placed, nodes); }

}  // namespace spdld::media::ops
