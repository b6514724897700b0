#include <optional>

#include "daemon/media/operations.h"
#include "daemon/media/text/list_value.h"

namespace spdld::text {
namespace {

class ParseList final : public media::Node {
 public:
  explicit ParseList(const media::PlacedOperation& placed)
      : output_(placed.output),
        dtype_(placed.gives.dtype()),
        width_(static_cast<uint64_t>(placed.spec.integer("width"))),
        reads_json_(placed.takes.bytes().origin == config::Origin::kJson) {
    if (const int64_t length = placed.spec.integer("length"); length != 0) length_ = static_cast<uint64_t>(length);
  }

 private:
  bool reads_json() const override { return reads_json_; }

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = store(value, call);
    return status ? status : media::of_output(output_, status.error());
  }

  Status store(const media::Value& value, const media::Call& call) const {
    const media::TensorOut& out = call.tensors.front();
    NumberList list{dtype_, out.memory, 0, width_};
    list.numbers_max = length_.value_or(out.length_max) * list.numbers_of_row();
    if (Status read = read_list_value(value, reads_json_, list, &call.workspace.guard()); !read) return read;
    if (length_ && list.rows() != *length_)
      return Error{Trouble::kContent,
                   "the list has a length of " + std::to_string(list.rows()) + ", not " + std::to_string(*length_)};
    if (length_) return Done{};
    const Result<uint64_t> taken = out.take(list.rows());
    if (!taken) return taken.error();
    if (out.carried == nullptr) return Done{};
    // The values were counted. Now there is room for them.
    list = {dtype_, out.at(), list.rows() * list.numbers_of_row(), width_};
    return read_list_value(value, reads_json_, list, &call.workspace.guard());
  }

  std::string output_;
  config::DType dtype_;
  uint64_t width_;  // 0: the elements are numbers
  bool reads_json_;
  std::optional<uint64_t> length_;  // none: it differs from sample to sample
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void parse_list(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<text::ParseList>(placed));
}

}  // namespace spdld::media::ops
