#include <jxl/decode.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/media/image/codecs/jxl/codestream.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

constexpr uint32_t kExtraChannelsMax = 4;  // alpha, depth, and what else comes from cameras

struct DestroyJxl {
  void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
};
using JxlHandle = std::unique_ptr<JxlDecoder, DestroyJxl>;

// Why the decoder stopped before it gave what was wanted.
Error error_of_jxl(JxlDecoderStatus status) {
  if (status == JXL_DEC_NEED_MORE_INPUT) return cut_off(kJxlName);
  return damaged(kJxlName, "libjxl can't decode it");
}

// A decoder that has all bytes, and stops at these events. Without a runner of threads it works in this thread alone.
// The input is not closed, so that a picture that was cut off is told from damage.
Result<JxlHandle> start(std::span<const uint8_t> bytes, int events) {
  JxlHandle decoder(JxlDecoderCreate(nullptr));
  if (!decoder) return Error{Trouble::kMemory, "there is not enough memory to decode a JPEG XL"};
  // Colours that are multiplied by alpha are divided by it. The caller turns the picture.
  if (JxlDecoderSubscribeEvents(decoder.get(), events) != JXL_DEC_SUCCESS ||
      JxlDecoderSetKeepOrientation(decoder.get(), JXL_TRUE) != JXL_DEC_SUCCESS ||
      JxlDecoderSetUnpremultiplyAlpha(decoder.get(), JXL_TRUE) != JXL_DEC_SUCCESS ||
      JxlDecoderSetInput(decoder.get(), bytes.data(), bytes.size()) != JXL_DEC_SUCCESS)
    return Error{Trouble::kInternal, "libjxl does not take the settings that every JPEG XL is decoded with"};
  return decoder;
}

// Whether the first picture is one frame alone, no larger than the header claims: libjxl decodes frames of any size.
// Without pixels being asked for, it reads headers alone.
Status check_frames(std::span<const uint8_t> code, const JxlBasicInfo& info) {
  if (info.have_preview != 0) return not_decoded(kJxlName, "a preview");
  const auto decoder = start(code, JXL_DEC_COLOR_ENCODING | JXL_DEC_FRAME);
  if (!decoder) return decoder.error();
  if (JxlDecoderSetCoalescing(decoder->get(), JXL_FALSE) != JXL_DEC_SUCCESS) return error_of_jxl(JXL_DEC_ERROR);
  if (const auto status = JxlDecoderProcessInput(decoder->get()); status != JXL_DEC_COLOR_ENCODING)
    return error_of_jxl(status);
  const auto frame = code.last(JxlDecoderReleaseInput(decoder->get()));
  if (const Status known = check_jxl_frame(frame); !known) return known;
  if (JxlDecoderSetInput(decoder->get(), frame.data(), frame.size()) != JXL_DEC_SUCCESS)
    return error_of_jxl(JXL_DEC_ERROR);
  if (const auto status = JxlDecoderProcessInput(decoder->get()); status != JXL_DEC_FRAME) return error_of_jxl(status);
  JxlFrameHeader header;
  if (JxlDecoderGetFrameHeader(decoder->get(), &header) != JXL_DEC_SUCCESS) return error_of_jxl(JXL_DEC_ERROR);
  if (header.layer_info.xsize > info.xsize || header.layer_info.ysize > info.ysize)
    return not_decoded(kJxlName, "a frame that is larger than the picture");
  const bool is_shown_alone = header.is_last != 0 || header.duration != 0;
  return is_shown_alone ? Status(Done{}) : not_decoded(kJxlName, "several layers");
}

// At the event of the colours. Pictures in the library's own colours, whose header has an ICC profile, would come as
// linear light: sRGB is asked for. The library asks for nothing where a picture stores its own colours.
void choose_colours(JxlDecoder* decoder, bool is_grey) {
  JxlColorEncoding told;
  if (JxlDecoderGetColorAsEncodedProfile(decoder, nullptr, JXL_COLOR_PROFILE_TARGET_ORIGINAL, &told) == JXL_DEC_SUCCESS)
    return;
  JxlColorEncoding srgb{};
  srgb.color_space = is_grey ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
  srgb.white_point = JXL_WHITE_POINT_D65;
  srgb.primaries = JXL_PRIMARIES_SRGB;
  srgb.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
  srgb.rendering_intent = JXL_RENDERING_INTENT_PERCEPTUAL;
  (void)JxlDecoderSetPreferredColorProfile(decoder, &srgb);
}

// Whether the pixels come in sRGB, or in grey with sRGB's curve.
bool gives_srgb(const JxlDecoder* decoder) {
  JxlColorEncoding given;
  if (JxlDecoderGetColorAsEncodedProfile(decoder, nullptr, JXL_COLOR_PROFILE_TARGET_DATA, &given) != JXL_DEC_SUCCESS)
    return false;
  const bool has_primaries = given.color_space == JXL_COLOR_SPACE_GRAY ||
                             (given.color_space == JXL_COLOR_SPACE_RGB && given.primaries == JXL_PRIMARIES_SRGB);
  return has_primaries && given.white_point == JXL_WHITE_POINT_D65 &&
         given.transfer_function == JXL_TRANSFER_FUNCTION_SRGB;
}

// Colours of CMYK have their black in a channel beside them.
Status check_channels(const JxlDecoder* decoder, const JxlBasicInfo& info) {
  if (info.num_extra_channels > kExtraChannelsMax)
    return not_decoded(kJxlName, std::to_string(info.num_extra_channels) + " channels beside its colours");
  for (uint32_t i = 0; i < info.num_extra_channels; ++i) {
    JxlExtraChannelInfo channel;
    if (JxlDecoderGetExtraChannelInfo(decoder, i, &channel) != JXL_DEC_SUCCESS) return error_of_jxl(JXL_DEC_ERROR);
    if (channel.type == JXL_CHANNEL_BLACK) return not_decoded(kJxlName, "CMYK colours");
  }
  return Done{};
}

class JxlCodec final : public StoredCodec {
 public:
  const char* name() const override { return kJxlName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Result<ColourProfile> profile() override;
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;

 private:
  bool is_grey_ = false;
  std::vector<uint8_t> joined_;    // of a codestream in parts
  std::span<const uint8_t> code_;  // the codestream
};

Result<StoredOutline> JxlCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  // libjxl keeps each channel as numbers of four bytes: the frame, its modular numbers, and four frames for reference.
  constexpr uint64_t kForAll = 8 << 20, kCopies = 6;
  code_ = jxl_codestream(bytes, joined_);
  const auto decoder = start(code_, JXL_DEC_BASIC_INFO);
  if (!decoder) return decoder.error();
  if (const auto status = JxlDecoderProcessInput(decoder->get()); status != JXL_DEC_BASIC_INFO)
    return error_of_jxl(status);
  JxlBasicInfo info;
  if (JxlDecoderGetBasicInfo(decoder->get(), &info) != JXL_DEC_SUCCESS) return error_of_jxl(JXL_DEC_ERROR);
  if (const Status known = check_channels(decoder->get(), info); !known) return known.error();
  const Claim claim{kJxlName, info.xsize, info.ysize};
  if (const Status small_enough = claim.check_pixels(); !small_enough) return small_enough.error();
  if (const Status sound = check_frames(code_, info); !sound) return sound.error();
  if (wanted.frames > 0 && info.have_animation != 0) return one_picture_of(kJxlName);
  is_grey_ = info.num_color_channels == 1;
  const bool gives_alpha = info.alpha_bits != 0 && wanted.colours == Colours::kRgba;
  const int channels = gives_alpha ? 4 : is_grey_ ? 1 : 3;
  const bool is_deep = info.bits_per_sample > 8 && wanted.bits == 16;
  const uint64_t planes = 3 + info.num_extra_channels;
  return StoredOutline{info.xsize, info.ysize, static_cast<int>(info.orientation),
                       PixelFormat{channels, is_deep ? 2 : 1},
                       kForAll + uint64_t{info.xsize} * info.ysize * planes * 4 * kCopies};
}

// The profile of the pixels that decode() gives.
Result<ColourProfile> JxlCodec::profile() {
  const auto decoder = start(code_, JXL_DEC_COLOR_ENCODING);
  if (!decoder) return decoder.error();
  if (const auto status = JxlDecoderProcessInput(decoder->get()); status != JXL_DEC_COLOR_ENCODING)
    return error_of_jxl(status);
  choose_colours(decoder->get(), is_grey_);
  if (gives_srgb(decoder->get())) return ColourProfile();
  size_t size = 0;
  constexpr auto kTarget = JXL_COLOR_PROFILE_TARGET_DATA;
  if (JxlDecoderGetICCProfileSize(decoder->get(), nullptr, kTarget, &size) != JXL_DEC_SUCCESS || size == 0 ||
      size > ColourProfile::kBytesMax)
    return damaged_profile(kJxlName);
  ColourProfile profile;
  profile.is_grey = is_grey_;
  profile.bytes.resize(size);
  if (JxlDecoderGetColorAsICCProfile(decoder->get(), nullptr, kTarget, profile.bytes.data(), size) != JXL_DEC_SUCCESS)
    return damaged_profile(kJxlName);
  return profile;
}

// The library decodes in one piece: the time is looked at before and behind it.
Status JxlCodec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  const auto decoder = start(code_, JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE);
  if (!decoder) return decoder.error();
  const Size picture = rows.picture;
  const uint64_t blocks = static_cast<uint64_t>(picture.width) * static_cast<uint64_t>(picture.height) / 64 + 1;
  if (watch.is_over(blocks)) return costs_too_much(kJxlName, kTooMuchCpuTime);
  auto status = JxlDecoderProcessInput(decoder->get());
  if (status != JXL_DEC_COLOR_ENCODING) return error_of_jxl(status);
  choose_colours(decoder->get(), is_grey_);
  status = JxlDecoderProcessInput(decoder->get());
  if (status != JXL_DEC_NEED_IMAGE_OUT_BUFFER) return error_of_jxl(status);
  const JxlPixelFormat format{static_cast<uint32_t>(rows.format.channels),
                              rows.format.sample_bytes == 2 ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  uint8_t* const pixels = cover({0, 0, picture.width, picture.height}, rows);
  const size_t size_bytes = rows.stride_bytes * static_cast<size_t>(picture.height);
  if (JxlDecoderSetImageOutBuffer(decoder->get(), &format, pixels, size_bytes) != JXL_DEC_SUCCESS)
    return damaged(kJxlName, "its picture has another size or other channels than its header claims");
  status = JxlDecoderProcessInput(decoder->get());
  if (watch.is_over(blocks)) return costs_too_much(kJxlName, kTooMuchCpuTime);
  if (status != JXL_DEC_FULL_IMAGE) return error_of_jxl(status);
  rows.offset = rows.stride_bytes * static_cast<size_t>(box.y);
  rows.covers = {0, box.y, picture.width, box.height};
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_jxl_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<JxlCodec>(), limits);
}

std::string jxl_code() {
  const uint32_t version = JxlDecoderVersion();
  return "libjxl " + std::to_string(version / 1'000'000) + "." + std::to_string(version / 1'000 % 1'000) + "." +
         std::to_string(version % 1'000);
}

}  // namespace spdld::image
