#include "daemon/media/image/codecs/srgb_transforms.h"

namespace spdld::image {
namespace {

class NoTransforms final : public SrgbTransforms {
 public:
  Status choose(std::span<const uint8_t>, bool, const PixelFormat&) override {
    return Error{Trouble::kUnsupported,
                 "a picture with a colour profile, which this spdld can't convert: build it with lcms2, or write "
                 "profile = \"ignore\""};
  }
  Status choose_lab() override {
    return Error{Trouble::kUnsupported,
                 "a picture with Lab colours, which this spdld can't convert: build it with lcms2"};
  }
  void apply(PixelRows&) override {}
};

}  // namespace

std::unique_ptr<SrgbTransforms> make_srgb_transforms() { return std::make_unique<NoTransforms>(); }

std::string colour_code() { return ""; }

}  // namespace spdld::image
