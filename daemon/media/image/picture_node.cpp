#include "daemon/media/image/picture_node.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "daemon/media/image/resample.h"

namespace spdld::image {

void PictureWork::shrink(size_t bytes_max) {
  rows.memory.shrink(bytes_max);
  for (ByteBuffer& memory : planes) memory.shrink(bytes_max);
}

std::vector<std::string> PictureNode::code() const {
  return {jpeg_code(), png_code(), "resampler " + std::to_string(kResamplerVersion)};
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
  const auto planes = PlanesForm::open(bytes);
  if (!planes)
    return Error{Trouble::kInternal, "what the cache keeps of sample " + std::to_string(run.sample) + " is no picture"};
  resolve(program_.steps(), planes->shape.picture, run.draws, work.geometry);
  program_.render(*planes, work.geometry, work.scratch, run.tensors.front());
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
    if (field.keeper) field.keeper->keep_as_fetched(field.bytes);
    program_.render(work.rows, work.geometry, work.scratch, out);
    return Done{};
  }
  const auto planes = PlanesForm::prepare(*shape, field, work);
  if (!planes) return planes.error();
  program_.render(*planes, work.geometry, work.scratch, out);
  return Done{};
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
