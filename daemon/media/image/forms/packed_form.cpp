#include "daemon/media/image/forms/packed_form.h"

#include <array>
#include <cstring>

#include "daemon/base/formats/little_endian.h"
#include "daemon/media/image/codecs/jpeg_round_trip.h"
#include "daemon/media/image/forms/planes_form.h"
#include "daemon/media/image/programs/picture_work.h"

namespace spdld::image {
namespace {

constexpr int kPackedVersion = 1;  // raised when coefficients are packed otherwise
static_assert(kPackedVersion < 10);
constexpr std::array<uint8_t, 4> kPackedMark = {'s', 'p', 'k', '0' + kPackedVersion};

// Behind the mark: width and height, four bytes each, the lowest first; the factors of chroma across and down; whether
// there is luma alone; and a zero.
constexpr size_t kWidthAt = 4, kHeightAt = 8, kAcrossAt = 12, kDownAt = 13, kGreyAt = 14, kBytesBefore = 16;

void write_header(const PlanesShape& shape, uint8_t* memory) {
  std::memset(memory, 0, kBytesBefore);
  std::memcpy(memory, kPackedMark.data(), kPackedMark.size());
  for (size_t i = 0; i < 4; ++i) {
    memory[kWidthAt + i] = static_cast<uint8_t>(shape.picture.width >> 8 * i);
    memory[kHeightAt + i] = static_cast<uint8_t>(shape.picture.height >> 8 * i);
  }
  memory[kAcrossAt] = shape.chroma_across;
  memory[kDownAt] = shape.chroma_down;
  memory[kGreyAt] = shape.grey ? 1 : 0;
}

// Gives what was packed to the keeper. Then it stands for the field.
void keep_form(const PlanesShape& shape, std::span<const uint8_t> packed, media::Field& field, Decoding& decoding) {
  const size_t bytes = kBytesBefore + packed.size();
  uint8_t* form = field.keeper->reserve(bytes);
  if (form == nullptr && field.keeper->takes(bytes)) form = decoding.form.resize(bytes);
  if (form == nullptr) return;
  write_header(shape, form);
  std::memcpy(form + kBytesBefore, packed.data(), packed.size());
  field.keeper->keep(form, bytes);
  field.bytes = {form, bytes};
  field.is_prepared = true;
}

}  // namespace

PackedForm::PackedForm(const DecodeWay& way)
    : exif_(way.exif), pixels_(way.pixels), id_("packed " + std::to_string(kPackedVersion) + way.form_text()) {}

// No header tells how well coefficients can be packed: of photographs they take 1.4 times the bytes.
std::optional<uint64_t> PackedForm::prepared_bytes(std::span<const uint8_t> content,
                                                   media::Workspace& workspace) const {
  ImageDecoder& decoder = *workspace.of<PictureWork>().decoder;
  if (!decoder.open(content, exif_, false, pixels_)) return std::nullopt;
  return decoder.is_packable() ? kBytesBefore + content.size() / 2 * 3 : 0;
}

std::optional<PackedForm::Sections> PackedForm::open(std::span<const uint8_t> bytes) {
  if (bytes.size() < kBytesBefore || std::memcmp(bytes.data(), kPackedMark.data(), kPackedMark.size()) != 0)
    return std::nullopt;
  const uint32_t width = little_endian(bytes, kWidthAt, 4), height = little_endian(bytes, kHeightAt, 4);
  const auto is_side = [](uint32_t side) { return side >= 1 && side <= kJpegSideMax; };
  const auto is_factor = [](uint8_t factor) { return factor == 1 || factor == 2; };
  if (!is_side(width) || !is_side(height) || !is_factor(bytes[kAcrossAt]) || !is_factor(bytes[kDownAt]) ||
      bytes[kGreyAt] > 1)
    return std::nullopt;
  return Sections{
      bytes.subspan(kBytesBefore),
      {{static_cast<int>(width), static_cast<int>(height)}, bytes[kAcrossAt], bytes[kDownAt], bytes[kGreyAt] == 1}};
}

Result<PlanesView> PackedForm::prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                       Decoding& decoding) {
  const size_t planes_bytes = PlanesLayout(shape).bytes;
  uint8_t* const planes = aligned_planes(decoding.memory, planes_bytes);
  // Packed coefficients take about as many bytes as the JPEG, or half as many more.
  const bool is_kept =
      field.keeper && !field.is_prepared && decoding.reduction == 1 && field.keeper->may_keep(field.bytes.size());
  std::span<const uint8_t> packed;
  const Status decoded = is_kept ? decoder.decode_and_pack(planes, packed)
                                 : decoder.decode_planes(decoding.box, decoding.reduction, planes);
  if (!decoded) return decoded.error();
  if (is_kept && packed.empty()) field.keeper->keep_as_fetched(field.bytes);
  if (!packed.empty()) keep_form(shape, packed, field, decoding);
  const auto view = PlanesForm::open({planes, planes_bytes});
  if (!view) return Error{Trouble::kInternal, "a picture's decoder has made planes of another size than it said"};
  return *view;
}

}  // namespace spdld::image
