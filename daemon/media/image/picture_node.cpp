#include "daemon/media/image/picture_node.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "daemon/base/planes.h"

namespace spdld::image {
namespace {

uint8_t* aligned_planes(ByteBuffer& memory, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory.resize(bytes + PlanesLayout::kAlignment));
  return reinterpret_cast<uint8_t*>((address + PlanesLayout::kAlignment - 1) / PlanesLayout::kAlignment *
                                    PlanesLayout::kAlignment);
}

// Planes that another way of decoding may not use. A strict one would not find out that they come from damaged bytes.
std::string text_of(const DecodeWay& way) {
  return std::string(way.exif ? "" : " (not turned)") + (way.strict ? " (strict)" : "");
}

}  // namespace

void PictureWork::shrink(size_t bytes_max) {
  rows.memory.shrink(bytes_max);
  for (ByteBuffer& memory : planes) memory.shrink(bytes_max);
}

PlanesForm::PlanesForm(const DecodeWay& way) : way_(way), text_(text_of(way)) {}

uint64_t PlanesForm::prepared_bytes(std::span<const uint8_t> content, media::Workspace& workspace) const {
  ImageDecoder& decoder = *workspace.of<PictureWork>().decoder;
  if (!decoder.open(content, way_.exif)) return 0;
  const auto shape = decoder.planes();
  return shape ? PlanesLayout(*shape).bytes : 0;
}

std::string_view PictureNode::why_unprepared() const {
  return way_.fast ? "decode-image with fast = true leaves no planes to keep" : std::string_view();
}

Status PictureNode::run(media::Value&, const media::Run& run) const {
  auto& work = run.workspace.of<PictureWork>();
  const Status rendered = run.field->is_prepared ? render_planes(run.field->bytes, run, work) : render_bytes(run, work);
  if (!rendered) return rendered;
  if (drawn_tensor_) {
    const Box& drawn = work.geometry.drawn;
    const std::array<int32_t, 4> box = {drawn.x, drawn.y, drawn.width, drawn.height};
    std::memcpy(run.tensors[*drawn_tensor_], box.data(), sizeof box);
  }
  return Done{};
}

Status PictureNode::render_planes(std::span<const uint8_t> bytes, const media::Run& run, PictureWork& work) const {
  PlanesView planes;
  if (!view_planes(bytes.data(), bytes.size(), planes))
    return Error{Trouble::kInternal, "what the cache keeps of sample " + std::to_string(run.sample) + " is no picture"};
  resolve(program_.steps(), planes.shape.picture, run.draws, work.geometry);
  program_.render(planes, work.geometry, work.scratch, run.tensors.front());
  return Done{};
}

Status PictureNode::render_bytes(const media::Run& run, PictureWork& work) const {
  media::Field& field = *run.field;
  uint8_t* const out = run.tensors.front();
  const Result<Size> size = work.decoder->open(field.bytes, way_.exif, way_.strict);
  if (!size) return size.error();
  program_.resolve(*size, run.draws, work.geometry);
  int& reduction = work.geometry.reduction;
  while (reduction > 1 && !work.decoder->planes(reduction)) reduction /= 2;
  const auto shape = work.decoder->planes(reduction);
  if (!shape) {
    const Status decoded = work.decoder->decode(work.geometry.decoded, work.rows);
    if (!decoded) return decoded;
    program_.render(work.rows, work.geometry, work.scratch, out);
    return Done{};
  }
  const auto made = make_planes(*shape, field, work);
  if (!made) return made.error();
  PlanesView planes;
  if (!view_planes(made->data(), made->size(), planes))
    return Error{Trouble::kInternal, "the planes of sample " + std::to_string(run.sample) + " are damaged"};
  program_.render(planes, work.geometry, work.scratch, out);
  return Done{};
}

// Decodes the opened picture to planes: whole, where somebody keeps them, so that they stand for the field from now on;
// else what the geometry needs, reduced as it says (a picture that may be reduced has no form to keep).
Result<std::span<const uint8_t>> PictureNode::make_planes(const PlanesShape& shape, media::Field& field,
                                                          PictureWork& work) const {
  const size_t bytes = PlanesLayout(shape).bytes;
  uint8_t* memory = field.keeper ? field.keeper->reserve(bytes) : nullptr;
  const bool whole = memory || (field.keeper && field.keeper->takes(bytes));
  if (!memory) {
    if (work.planes.size() <= field.number) work.planes.resize(field.number + 1);
    memory = aligned_planes(work.planes[field.number], bytes);
  }
  const Status decoded = whole ? work.decoder->decode_planes(memory)
                               : work.decoder->decode_planes(work.geometry.decoded, work.geometry.reduction, memory);
  if (!decoded) return decoded.error();
  if (whole) {
    field.keeper->keep(memory, bytes);
    field.bytes = {memory, bytes};
    field.is_prepared = true;
  }
  return std::span<const uint8_t>(memory, bytes);
}

PictureNode& picture_node(const media::Nodes& nodes) {
  auto* node = nodes.empty() ? nullptr : dynamic_cast<PictureNode*>(nodes.back().get());
  if (node == nullptr) throw std::logic_error("an operation on pictures follows no picture");
  return *node;
}

TensorFormat format_of(const media::Part& part) {
  TensorFormat format;
  const auto height = part.takes.dimensions[0].value(), width = part.takes.dimensions[1].value();
  format.size = {static_cast<int>(width), static_cast<int>(height)};
  format.dtype = part.gives.dtype;
  format.layout = config::layout_named(part.spec.text("layout"));
  return format;
}

}  // namespace spdld::image
