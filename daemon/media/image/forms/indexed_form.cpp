#include "daemon/media/image/forms/indexed_form.h"

#include <cstring>

#include "daemon/base/formats/little_endian.h"
#include "daemon/media/image/forms/planes_form.h"
#include "daemon/media/image/programs/picture_work.h"

namespace spdld::image {
namespace {

constexpr int kVersion = 2;  // raised when other points are chosen, or are written otherwise
static_assert(kVersion < 10);
constexpr std::array<uint8_t, 4> kMark = {'s', 'p', 'i', '0' + kVersion};
constexpr size_t kHeaderBytes = kMark.size() + sizeof(uint32_t);

// Writes all but the index, and returns its place.
std::span<uint8_t> write_form(std::span<const uint8_t> content, size_t index_bytes, uint8_t* memory) {
  const auto count = static_cast<uint32_t>(index_bytes);
  std::memcpy(memory, kMark.data(), kMark.size());
  for (size_t i = 0; i < sizeof count; ++i) memory[kMark.size() + i] = static_cast<uint8_t>(count >> 8 * i);
  std::memcpy(memory + kHeaderBytes + index_bytes, content.data(), content.size());
  return {memory + kHeaderBytes, index_bytes};
}

// The bytes that are to be kept of a picture. The decoder has opened them.
struct Content {
  std::span<const uint8_t> bytes;
  size_t index_bytes = 0;  // 0: it has no index
  bool finds_room = true;
};

Result<Content> content_of(const media::Field& field, ImageDecoder& decoder, size_t planes_bytes, Decoding& decoding) {
  Content content{field.bytes};
  if (field.keeper == nullptr || decoding.reduction != 1) return content;
  content.index_bytes = decoder.index_bytes();
  if (content.index_bytes != 0 || !decoder.is_packable()) return content;
  content.finds_room = field.keeper->may_keep(content.bytes.size());
  if (!content.finds_room) return content;
  std::span<const uint8_t> plain;
  const Status transcoded = decoder.transcode(aligned_planes(decoding.memory, planes_bytes), plain);
  if (!transcoded) return transcoded.error();
  if (!plain.empty()) {
    content.bytes = plain;
    content.index_bytes = decoder.index_bytes();
  }
  return content;
}

}  // namespace

IndexedForm::IndexedForm(const DecodeWay& way)
    : exif_(way.exif), pixels_(way.pixels), id_("indexed " + std::to_string(kVersion) + way.form_text()) {}

std::optional<uint64_t> IndexedForm::prepared_bytes(std::span<const uint8_t> content,
                                                    media::Workspace& workspace) const {
  ImageDecoder& decoder = *workspace.of<PictureWork>().decoder;
  if (!decoder.open(content, exif_, false, pixels_)) return std::nullopt;
  const size_t index_bytes = decoder.index_bytes();
  if (index_bytes != 0) return kHeaderBytes + index_bytes + content.size();
  // A progressive JPEG becomes a plain one, which takes about a tenth more.
  return decoder.is_packable() ? kHeaderBytes + content.size() / 8 * 9 : 0;
}

std::optional<IndexedForm::Sections> IndexedForm::open(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMark.data(), kMark.size()) != 0) return std::nullopt;
  const size_t index_bytes = little_endian(bytes, kMark.size(), sizeof(uint32_t));
  if (index_bytes > bytes.size() - kHeaderBytes) return std::nullopt;
  return Sections{bytes.subspan(kHeaderBytes, index_bytes), bytes.subspan(kHeaderBytes + index_bytes)};
}

Result<PlanesView> IndexedForm::prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                        Decoding& decoding) {
  const size_t planes_bytes = PlanesLayout(shape).bytes;
  const Result<Content> content = content_of(field, decoder, planes_bytes, decoding);
  if (!content) return content.error();
  const size_t index_bytes = content->index_bytes, form_bytes = kHeaderBytes + index_bytes + content->bytes.size();
  uint8_t* form = index_bytes == 0 ? nullptr : field.keeper->reserve(form_bytes);
  const bool keeps_own = index_bytes != 0 && form == nullptr && field.keeper->takes(form_bytes);
  uint8_t* const planes = aligned_planes(decoding.memory, planes_bytes + (keeps_own ? form_bytes : 0));
  if (keeps_own) form = planes + planes_bytes;
  const Status decoded =
      form ? decoder.decode_and_index(decoding.box, planes, write_form(content->bytes, index_bytes, form))
           : decoder.decode_planes(decoding.box, decoding.reduction, planes);
  if (!decoded) return decoded.error();
  if (form) {
    field.keeper->keep(form, form_bytes);
    field.bytes = {form, form_bytes};
    field.is_prepared = true;
  } else if (field.keeper && index_bytes == 0 && content->finds_room) {
    field.keeper->keep_as_fetched(field.bytes);
  }
  const auto view = PlanesForm::open({planes, planes_bytes});
  if (!view) return Error{Trouble::kInternal, "a picture's decoder has made planes of another size than it said"};
  return *view;
}

}  // namespace spdld::image
