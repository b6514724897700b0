#include "daemon/media/image/forms/planes_form.h"

#include "daemon/media/image/programs/picture_work.h"

namespace spdld::image {

uint8_t* aligned_planes(ByteBuffer& memory, size_t bytes) {
  return memory.resize_aligned(bytes, PlanesLayout::kAlignment);
}

PlanesForm::PlanesForm(const DecodeWay& way)
    : exif_(way.exif),
      pixels_(way.pixels),
      id_("planes " + std::to_string(PlanesLayout::kVersion) + ", " + jpeg_code() + way.form_text()) {}

std::optional<uint64_t> PlanesForm::prepared_bytes(std::span<const uint8_t> content,
                                                   media::Workspace& workspace) const {
  ImageDecoder& decoder = *workspace.of<PictureWork>().decoder;
  if (!decoder.open(content, exif_, false, pixels_)) return std::nullopt;
  const auto shape = decoder.planes();
  return shape ? PlanesLayout(*shape).bytes : 0;
}

std::optional<PlanesView> PlanesForm::open(std::span<const uint8_t> bytes) {
  PlanesView planes;
  return view_planes(bytes.data(), bytes.size(), planes) ? std::optional(planes) : std::nullopt;
}

Result<PlanesView> PlanesForm::prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                       Decoding& decoding) {
  const size_t bytes = PlanesLayout(shape).bytes;
  uint8_t* memory = field.keeper ? field.keeper->reserve(bytes) : nullptr;
  const bool whole = memory || (field.keeper && field.keeper->takes(bytes));
  if (!memory) memory = aligned_planes(decoding.memory, bytes);
  const Status decoded =
      whole ? decoder.decode_planes(memory) : decoder.decode_planes(decoding.box, decoding.reduction, memory);
  if (!decoded) return decoded.error();
  const auto planes = open({memory, bytes});
  if (!planes) return Error{Trouble::kInternal, "a picture's decoder has made planes of another size than it said"};
  if (whole) {
    field.keeper->keep(memory, bytes);
    field.bytes = {memory, bytes};
    field.is_prepared = true;
  }
  return *planes;
}

}  // namespace spdld::image
