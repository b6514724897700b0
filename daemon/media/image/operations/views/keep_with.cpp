#include <algorithm>
#include <cstring>

#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/geometry/view_list.h"
#include "daemon/media/operations.h"
#include "daemon/media/text/list_value.h"

namespace spdld::image {
namespace {

class KeepWith final : public media::Node {
 public:
  explicit KeepWith(const media::PlacedOperation& placed)
      : output_(placed.output),
        of_(placed.spec.text("of")),
        kind_{placed.gives.dtype(), static_cast<uint64_t>(placed.spec.integer("width")),
              placed.takes.bytes().origin == config::Origin::kJson},
        element_bytes_(config::dtype_bytes(kind_.dtype) * std::max<uint64_t>(kind_.width, 1)) {}

  bool reads_json() const override { return kind_.reads_json; }

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = keep(value, call);
    return status ? status : media::of_output(output_, status.error());
  }

 private:
  Status keep(const media::Value& value, const media::Call& call) const {
    const View* const view = followed(call);
    const View::Kept* const kept = view == nullptr ? nullptr : view->find_kept(of_);
    if (kept == nullptr) return no_view(call);
    auto& work = call.workspace.of<text::ListWork>();
    const Result<uint64_t> listed = text::read_list_value(value, kind_, work);
    if (!listed) return listed.error();
    if (*listed != kept->listed) return other_length(*listed, *kept);
    const media::TensorOut& out = call.tensors.front();
    const Result<uint64_t> taken = out.take(kept->places.size());
    if (!taken) return taken.error();
    for (uint64_t i = 0; i < *taken; ++i)
      std::memcpy(out.at() + i * element_bytes_, work.memory.data() + kept->places[i] * element_bytes_, element_bytes_);
    return Done{};
  }

  std::string output_, of_;
  text::ListKind kind_;
  size_t element_bytes_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void keep_with(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<image::KeepWith>(placed));
}

}  // namespace spdld::media::ops
