#include "config/picture_size.h"
#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class Pad final : public GeometryStep {
 public:
  explicit Pad(const config::OperationSpec& op)
      : operation_(name_of(op)), kind_(border_kind_named(op.text("mode"))), fill_(fill_of(op)) {
    const config::PicturePadding padding = config::picture_padding(op);
    border_ = {static_cast<int>(padding.left), static_cast<int>(padding.top), static_cast<int>(padding.right),
               static_cast<int>(padding.bottom)};
  }

  void apply(const Draws&, Geometry& geometry) const override {
    add_border(border_, kind_, fill_, operation_, geometry);
  }

 private:
  std::string_view operation_;
  Border border_;
  BorderKind kind_;
  std::array<uint8_t, 3> fill_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void pad(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Pad>(placed.spec));
}

}  // namespace spdld::media::ops
