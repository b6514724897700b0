#include "config/operations/image/shape/corner_crops.h"

#include <utility>

#include "config/operations/common.h"
#include "config/picture_size.h"

namespace spdld::config::ops {

OperationType corner_crops(std::string_view name, std::string_view help, std::vector<Parameter> further,
                           std::string (*bind)(const OperationSpec& spec, Signature& signature)) {
  std::vector<Parameter> parameters = {size("of each piece: one number (a square) or [height, width]")};
  for (Parameter& parameter : further) parameters.push_back(std::move(parameter));
  return {.name = name,
          .takes = SignatureKind::kImage,
          .gives = SignatureKind::kImage,
          .help = help,
          .parameters = std::move(parameters),
          .bind = bind,
          .medium = PictureTraits{.view_part = ViewPart::kPieces}};
}

std::string bind_corner_crops(const OperationSpec& spec, int64_t count, Signature& signature) {
  const PictureSize size = picture_size(spec);
  const auto exceeds = [](int64_t side, const Dimension& of) { return of.is_fixed() && side > of.value(); };
  if (exceeds(size.height, signature.dimensions[0]) || exceeds(size.width, signature.dimensions[1]))
    return "cuts pieces that are larger than the picture: resize it to more before, or write a smaller size";
  signature = resized(signature, size.height, size.width, signature.picture().is_resampled);
  signature.picture().pieces = count;
  return "";
}

}  // namespace spdld::config::ops
