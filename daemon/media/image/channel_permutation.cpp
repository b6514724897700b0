#include "daemon/media/image/colour_step.h"
#include "daemon/media/image/picture_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class ChannelPermutation final : public ColourStep {
 public:
  using ColourStep::ColourStep;

 private:
  void adjust(Draw& draw, Geometry& geometry) const override {
    Adjustment adjustment{.kind = Adjustment::Kind::kPermutation};
    shuffle(draw, std::span(adjustment.order));
    add(adjustment, geometry);
  }
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void channel_permutation(const Part& part, Nodes& nodes) {
  image::picture_node(nodes).add(std::make_unique<image::ChannelPermutation>(part.spec));
}

}  // namespace spdld::media::ops
