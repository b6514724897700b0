#include <lcms2.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "daemon/media/image/codecs/file_boxes.h"
#include "daemon/media/image/codecs/srgb_transforms.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

struct DestroyLcms {
  void operator()(cmsContext context) const { cmsDeleteContext(context); }
};
struct CloseProfile {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};
struct DeleteTransform {
  void operator()(void* transform) const { cmsDeleteTransform(transform); }
};
using LcmsContext = std::unique_ptr<std::remove_pointer_t<cmsContext>, DestroyLcms>;
using LcmsProfile = std::unique_ptr<void, CloseProfile>;
using LcmsTransform = std::unique_ptr<void, DeleteTransform>;

// The colours that a profile is for: the header's bytes 16 to 19, the highest first (ICC.1:2010, 7.2.6). lcms2's
// function gives them as an enumeration, which has no room for the numbers that a damaged profile may have.
uint32_t space_of(std::span<const uint8_t> profile) { return box_number(profile, 16, 4); }

Error other_colours(uint32_t space) {
  const char* const colours = space == cmsSigGrayData   ? "grey"
                              : space == cmsSigCmykData ? "CMYK"
                              : space == cmsSigRgbData  ? "RGB"
                                                        : "other colours";
  return {Trouble::kUnsupported,
          std::string("a picture whose colour profile is for ") + colours +
              ", which the picture does not store: write profile = \"ignore\" for such pictures"};
}

// lcms2's words for pixels. Channels that a profile does not use are left as they are.
cmsUInt32Number layout_of(const PixelFormat& format, bool is_grey) {
  const auto used = is_grey ? 1U : 3U, unused = static_cast<unsigned>(format.channels) - used;
  const auto space = static_cast<unsigned>(is_grey ? PT_GRAY : PT_RGB);
  return COLORSPACE_SH(space) | CHANNELS_SH(used) | EXTRA_SH(unused) |
         BYTES_SH(static_cast<unsigned>(format.sample_bytes));
}

struct KeptTransform {
  std::vector<uint8_t> profile;
  PixelFormat format;
  LcmsTransform transform;  // none: the profile is damaged
  uint32_t space = cmsSigRgbData;
  uint64_t used = 0;  // the number of its last use
};

class LcmsTransforms final : public SrgbTransforms {
 public:
  LcmsTransforms() : context_(cmsCreateContext(nullptr, nullptr)) {}
  Status choose(std::span<const uint8_t> profile, bool is_grey, const PixelFormat& format) override;
  Status choose_lab() override;
  void apply(PixelRows& rows) override;

 private:
  KeptTransform& find(std::span<const uint8_t> profile, const PixelFormat& format);
  void make(KeptTransform& made) const;

  LcmsContext context_;  // of this object alone: it has no handler of errors that threads would share
  std::vector<KeptTransform> kept_;
  LcmsTransform lab_;
  void* chosen_ = nullptr;  // one of these transforms
  uint64_t uses_ = 0;
};

void LcmsTransforms::make(KeptTransform& made) const {
  const LcmsProfile from(
      cmsOpenProfileFromMemTHR(context_.get(), made.profile.data(), static_cast<uint32_t>(made.profile.size())));
  const LcmsProfile to(cmsCreate_sRGBProfileTHR(context_.get()));
  if (!from || !to) return;
  made.space = space_of(made.profile);  // lcms2 has read the whole header
  if (made.space != cmsSigRgbData && made.space != cmsSigGrayData) return;
  // lcms2 would put a table in the place of the curves for 16 bits, which is wrong by some values of 8 bits.
  const cmsUInt32Number flags = made.format.sample_bytes == 2 ? cmsFLAGS_NOOPTIMIZE : 0;
  made.transform.reset(cmsCreateTransformTHR(context_.get(), from.get(),
                                             layout_of(made.format, made.space == cmsSigGrayData), to.get(),
                                             layout_of(made.format, false), INTENT_PERCEPTUAL, flags));
}

// The kept transform of the profile, or a new one, which takes the place of a transform that was not used for long.
KeptTransform& LcmsTransforms::find(std::span<const uint8_t> profile, const PixelFormat& format) {
  constexpr size_t kKept = 8;
  const auto is_same = [&](const KeptTransform& kept) {
    return kept.format == format &&
           std::equal(kept.profile.begin(), kept.profile.end(), profile.begin(), profile.end());
  };
  auto found = std::find_if(kept_.begin(), kept_.end(), is_same);
  if (found != kept_.end()) return *found;
  if (kept_.size() >= kKept)
    kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                 [](const auto& one, const auto& other) { return one.used < other.used; }));
  KeptTransform made;
  made.profile.assign(profile.begin(), profile.end());
  made.format = format;
  make(made);
  return kept_.emplace_back(std::move(made));
}

Status LcmsTransforms::choose(std::span<const uint8_t> profile, bool is_grey, const PixelFormat& format) {
  chosen_ = nullptr;
  if (!context_) return Error{Trouble::kMemory, "there is not enough memory to convert colours"};
  KeptTransform& found = find(profile, format);
  found.used = ++uses_;
  const bool is_known = found.space == cmsSigRgbData || (found.space == cmsSigGrayData && is_grey);
  if (!is_known) return other_colours(found.space);
  if (!found.transform) return damaged_profile("a picture");
  chosen_ = found.transform.get();
  return Done{};
}

Status LcmsTransforms::choose_lab() {
  constexpr cmsUInt32Number kLab = COLORSPACE_SH(PT_LabV2) | CHANNELS_SH(3) | BYTES_SH(1);
  chosen_ = nullptr;
  if (!lab_ && context_) {
    const LcmsProfile from(cmsCreateLab2ProfileTHR(context_.get(), nullptr));
    const LcmsProfile to(cmsCreate_sRGBProfileTHR(context_.get()));
    if (from && to)
      lab_.reset(cmsCreateTransformTHR(context_.get(), from.get(), kLab, to.get(), TYPE_RGB_8, INTENT_PERCEPTUAL, 0));
  }
  if (!lab_) return Error{Trouble::kMemory, "there is not enough memory to convert colours"};
  chosen_ = lab_.get();
  return Done{};
}

void LcmsTransforms::apply(PixelRows& rows) {
  if (chosen_ == nullptr) return;
  for (int y = rows.covers.y; y < rows.covers.y + rows.covers.height; ++y) {
    uint8_t* const row = rows.memory.data() + rows.offset + rows.stride_bytes * static_cast<size_t>(y - rows.covers.y);
    cmsDoTransform(chosen_, row, row, static_cast<uint32_t>(rows.covers.width));
  }
}

}  // namespace

std::unique_ptr<SrgbTransforms> make_srgb_transforms() { return std::make_unique<LcmsTransforms>(); }

std::string colour_code() {
  const int version = cmsGetEncodedCMMversion();  // 2140: version 2.14
  return "lcms " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace spdld::image
