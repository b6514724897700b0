#include <cstring>

#include "daemon/media/operations.h"
#include "daemon/media/text/number_text.h"
#include "daemon/media/told_numbers.h"

namespace spdld::text {
namespace {

class ParseFloat final : public media::Node {
 public:
  ParseFloat(const std::string& output, config::DType dtype)
      : output_(output), is_float32_(dtype == config::DType::kFloat32) {}

  Status advise(const media::Value& value, const media::Call& call) const override {
    const Result<double> number = number_in(value.text(), false);
    if (!number) return media::of_output(output_, number.error());
    call.workspace.of<media::ToldNumbers>().tell(call.sample, output_, *number);
    return Done{};
  }

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const Result<double> number = number_in(value.text(), is_float32_);
    if (!number) return media::of_output(output_, number.error());
    if (is_float32_) {
      const auto narrow = static_cast<float>(*number);
      std::memcpy(call.tensors.front().memory, &narrow, sizeof narrow);
    } else {
      std::memcpy(call.tensors.front().memory, &*number, sizeof *number);
    }
    return Done{};
  }

  std::string output_;
  bool is_float32_;  // else float64
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void parse_float(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<text::ParseFloat>(placed.output, placed.gives.dtype()));
}

}  // namespace spdld::media::ops
