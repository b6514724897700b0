#include "daemon/media/operations.h"
#include "daemon/media/text/number_text.h"

namespace spdld::text {
namespace {

class ParseInt final : public media::Node {
 public:
  explicit ParseInt(const std::string& output) : output_(output) {}

 private:
  Status run(media::Value& value, const media::Call&) const override {
    const Result<int64_t> number = integer_in(value.text());
    if (!number) return media::of_output(output_, number.error());
    value.integer = *number;
    return Done{};
  }

  std::string output_;
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void parse_int(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<text::ParseInt>(placed.output));
}

}  // namespace spdld::media::ops
