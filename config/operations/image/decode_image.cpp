#include "config/operation_types.h"
#include "config/operations/common.h"
#include "config/picture_pixels.h"

namespace spdld::config::ops {
namespace {

std::string bind_decoding(const OperationSpec& spec, Signature& signature) {
  if (signature.bytes().origin == Origin::kName)
    return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.bytes().origin == Origin::kJson)
    return "can't decode a JSON value: it is a number or a text, not a picture";
  const PicturePixels pixels = picture_pixels(spec);
  signature = image(pixels.channels(), pixels.bits);
  if (pixels.frames > 0) signature.picture().frames = pixels.frames;
  return "";
}

void check_resampling(OperationSpec& spec, const PicturePixels& pixels, const Complain& complain) {
  if (!resamples_as_pillow(spec)) {
    spec.parameters.erase("resampling");
    return;
  }
  if (pixels.bits != 8)
    complain("resampling", "can't be \"pillow\" with bits = " + std::to_string(pixels.bits) +
                               ": Pillow resizes pictures of 8 bits so");
  if (pixels.colours == "rgba")
    complain("resampling",
             "can't be \"pillow\" with colours = \"rgba\": Pillow multiplies colours by alpha where it resizes, "
             "and the daemon does not");
  if (spec.flag("fast"))
    complain("fast", "can't be true beside resampling = \"pillow\", which decodes pictures at their full size");
}

// All have been added to specs of before: they are left out where they ask for what such specs got.
void check_decoding(OperationSpec& spec, const Complain& complain) {
  const PicturePixels pixels = picture_pixels(spec);
  if (pixels.bits != 8 && pixels.bits != 16 && pixels.bits != 32)
    return complain("bits", "must be 8, 16 or 32, not " + std::to_string(pixels.bits));
  if (pixels.bits == 32 && pixels.colours == "rgba") complain("colours", "can't be \"rgba\" with bits = 32");
  if (pixels.bits == 32 && pixels.srgb) complain("profile", "can't be \"srgb\" with bits = 32");
  if (pixels.bits == 8) spec.parameters.erase("bits");
  if (pixels.colours == "rgb") spec.parameters.erase("colours");
  if (!pixels.srgb) spec.parameters.erase("profile");
  if (pixels.frames > 0 && pixels.frame > 0)
    complain("frame",
             "can't stand beside frames, which takes frames from the first to the last: leave one of them out");
  if (pixels.frames > 0 && spec.flag("fast"))
    complain("fast", "can't be true beside frames: JPEGs alone are decoded smaller, and these have one frame");
  if (pixels.frame == 0) spec.parameters.erase("frame");
  if (pixels.frames == 0) spec.parameters.erase("frames");
  check_resampling(spec, pixels, complain);
}

// Kept planes serve every draw, so they are of whole pictures: what is decoded smaller can't be kept so. Planes have no
// alpha, and 8 bits.
std::optional<Hindrance> picture_hindrance(const OperationSpec& spec) {
  if (picture_pixels(spec).srgb) {
    return Hindrance{
        "profile",
        "can't be \"srgb\" beside cache = \"decoded\", which keeps colours as they are stored: write cache = "
        "\"encoded\", \"off\" or \"auto\""};
  }
  if (picture_pixels(spec).frame > 0 || picture_pixels(spec).frames > 0) {
    return Hindrance{
        picture_pixels(spec).frame > 0 ? "frame" : "frames",
        "can't stand beside cache = \"decoded\", which keeps JPEGs, and these have one frame: write cache = "
        "\"encoded\", \"off\" or \"auto\""};
  }
  if (!picture_pixels(spec).has_planes()) {
    const int bits = picture_pixels(spec).bits;
    if (bits == 8)
      return Hindrance{"colours",
                       "can't be \"rgba\" beside cache = \"decoded\", which keeps no alpha: write cache = \"encoded\", "
                       "\"off\" or \"auto\""};
    return Hindrance{"bits", bits == 16 ? "can't be 16 beside cache = \"decoded\", which keeps 8 bits: write cache = "
                                          "\"encoded\", \"off\" or \"auto\""
                                        : "can't be 32 beside cache = \"decoded\", which keeps 8 bits: write cache = "
                                          "\"encoded\", \"off\" or \"auto\""};
  }
  if (!spec.flag("fast")) return std::nullopt;
  return Hindrance{"fast",
                   "can't be true beside cache = \"decoded\", which keeps pictures at their full size: leave fast out, "
                   "or write cache = \"encoded\", \"off\" or \"auto\""};
}

}  // namespace

OperationType decode_image() {
  const Parameter bits{
      .name = "bits",
      .type = ParameterType::kInteger,
      .help =
          "of each channel, 8 or 16: values of 8 bits become 16 times 257, and of 16 bits 8 keeps the upper half; 32 "
          "takes TIFF pictures of floating-point numbers, whose values stay as they are",
      .fallback = Value(int64_t{8}),
      .min = 8,
      .max = 32};
  const Parameter frame{
      .name = "frame",
      .type = ParameterType::kInteger,
      .help =
          "of an animation (GIF, WebP, AVIF), drawn on the frames before it, or the page of a TIFF, counted from 0; "
          "a picture with fewer frames is bad",
      .fallback = Value(int64_t{0}),
      .min = 0,
      .max = kFrameMax};
  const Parameter frames{
      .name = "frames",
      .type = ParameterType::kInteger,
      .help =
          "how many frames of an animation, or pages of a TIFF, are taken, evenly spaced from the first to the last: "
          "the tensor of a sample has them as its first dimension; 0 takes one picture, without that dimension",
      .fallback = Value(int64_t{0}),
      .min = 0,
      .max = kFramesWantedMax};
  return {
      .name = "decode-image",
      .takes = Kind::kBytes,
      .gives = Kind::kImage,
      .help =
          "Decode a picture (JPEG, PNG, WebP, TIFF, BMP, GIF, AVIF, JPEG XL, JPEG 2000 or HEIC) to RGB, grey or RGBA "
          "of 8 or "
          "16 bits, or floating-point numbers; by default to RGB of 8 bits.",
      .parameters =
          {choice("colours",
                  "of the pixels: grey pictures become RGB, colours become grey as in Pillow's convert(\"L\") (a "
                  "JPEG's own luma is taken); alpha is dropped, or opaque where a picture has none",
                  {"rgb", "grey", "rgba"}, "rgb"),
           bits,
           choice(
               "profile",
               "of colours: \"ignore\" gives them as they are stored; \"srgb\" converts them to sRGB by the picture's "
               "ICC profile, where it has one (perceptual intent, by lcms2), and refuses a damaged profile",
               {"ignore", "srgb"}, "ignore"),
           frame, frames, flag("exif", "turn the picture upright as its EXIF orientation says", true),
           choice("resampling",
                  "of the bilinear, antialiased resizes that follow: \"own\" resizes the planes of a JPEG before its "
                  "colours become RGB; \"pillow\" resizes the RGB picture with Pillow's values, bit for bit, which "
                  "takes more CPU time",
                  {"own", "pillow"}, "own"),
           flag("fast",
                "decode large pictures at 1/2, 1/4 or 1/8 of their size where the first resize, antialiased and "
                "bilinear, leaves at most 5/8 of that: less CPU, pixels that differ a little (50 dB on average), and "
                "no cache = "
                "\"decoded\"",
                false),
           flag("strict",
                "refuse a picture with damage anywhere in its coded data, which is otherwise decoded as Pillow decodes "
                "it; the whole picture is then decoded, whatever part is needed",
                false)},
      .bind = bind_decoding,
      .check = check_decoding,
      .hindrance = picture_hindrance,
      .version = 3,
      .medium = PictureTraits{.view_part = ViewPart::kLeads, .counts_pixels = true, .is_kept_decoded = true},
      .decodes = true};
}

}  // namespace spdld::config::ops
