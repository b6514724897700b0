#include "daemon/media/image/geometry/adjusting_step.h"
#include "daemon/media/image/geometry/warp_step.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

class ChannelDropout final : public AdjustingStep, private OwnChange {
 public:
  explicit ChannelDropout(const config::OperationSpec& op)
      : AdjustingStep(op), channels_(range_of(op, "channels")), fill_(fill_of(op)) {}

 private:
  // Draws the bits of the channels that are filled.
  void add(Draw& draw, Geometry& geometry) const override {
    const auto choices = static_cast<uint64_t>(channels_.greatest - channels_.least) + 1;
    const uint64_t count = static_cast<uint64_t>(channels_.least) + draw.below(choices);
    std::array<uint8_t, 3> order = {0, 1, 2};
    shuffle(draw, order);
    uint64_t filled = 0;
    for (size_t i = 0; i < count; ++i) filled |= uint64_t{1} << order[i];
    adjust({.type = AdjustmentType::kOwn, .own = this, .seed = filled}, geometry);
  }

  void run(uint64_t filled, const AdjustedPicture& picture) const override {
    if (picture.channels != 3) return;
    picture.each_part(1, [&](uint8_t* pixels, size_t bytes) {
      for (size_t channel = 0; channel < fill_.size(); ++channel)
        for (size_t i = channel; (filled >> channel & 1) != 0 && i < bytes; i += fill_.size())
          pixels[i] = fill_[channel];
    });
  }

  Range channels_;  // whole numbers
  std::array<uint8_t, 3> fill_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void channel_dropout(const PlacedOperation& placed, Nodes& nodes) {
  image::program_node(nodes).add(std::make_unique<image::ChannelDropout>(placed.spec));
}

}  // namespace spdld::media::ops
