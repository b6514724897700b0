#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

std::string bind_decoding(const OperationSpec&, Signature& signature) {
  if (signature.origin == Origin::kName) return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.origin == Origin::kJson) return "can't decode a JSON value: it is a number or a text, not a picture";
  signature = image({}, {}, false);
  return "";
}

// Kept planes serve every draw, so they are of whole pictures: what is decoded smaller can't be kept so.
std::optional<Hindrance> hindrance(const OperationSpec& spec) {
  if (!spec.flag("fast")) return std::nullopt;
  return Hindrance{"fast",
                   "can't be true beside cache = \"decoded\", which keeps pictures at their full size: leave fast out, "
                   "or write cache = \"encoded\", \"off\" or \"auto\""};
}

}  // namespace

OperationType decode_image() {
  return {
      .name = "decode-image",
      .takes = Kind::kBytes,
      .gives = Kind::kImage,
      .help = "Decode a JPEG or PNG to RGB, 8 bits a channel; grey becomes RGB, alpha is dropped.",
      .parameters =
          {flag("exif", "turn the picture upright as its EXIF orientation says", true),
           flag("fast",
                "decode large pictures at 1/2, 1/4 or 1/8 of their size where the first resize, antialiased, leaves "
                "at most 5/8 of that: less CPU, pixels that differ a little (50 dB on average), and no cache = "
                "\"decoded\"",
                false),
           flag("strict",
                "refuse a picture with damage anywhere in its coded data, which is otherwise decoded as Pillow decodes "
                "it; the whole picture is then decoded, whatever part is needed",
                false)},
      .bind = bind_decoding,
      .hindrance = hindrance};
}

}  // namespace spdld::config::ops
