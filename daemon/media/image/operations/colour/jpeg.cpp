#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

// A whole quality, each of the range equally likely.
class Jpeg final : public AdjustingStep {
 public:
  explicit Jpeg(const config::OperationSpec& op) : AdjustingStep(op), quality_(range_of(op, "quality")) {}

 private:
  void add(Draw& draw, Geometry& geometry) const override {
    const auto count = static_cast<uint64_t>(quality_.greatest - quality_.least) + 1;
    adjust({.type = AdjustmentType::kJpeg, .amount = quality_.least + static_cast<double>(draw.below(count))},
           geometry);
  }

  Range quality_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void jpeg(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::Jpeg>(placed.spec));
}

}  // namespace spdld::media::ops
