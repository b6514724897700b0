#include "daemon/media/image/picture_node.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "daemon/media/image/resample.h"
#include "daemon/media/image/resample_any.h"
#include "daemon/media/image/view.h"

namespace spdld::image {

void PictureWork::shrink(size_t bytes_max) {
  rows.memory.shrink(bytes_max);
  for (ByteBuffer& memory : planes) memory.shrink(bytes_max);
}

std::vector<std::string> PictureNode::code() const {
  std::vector<std::string> code = picture_codes();
  code.push_back("resampler " + std::to_string(kResamplerVersion));
  if (!has_planes(way_.pixels)) code.push_back("resampler of any pixels " + std::to_string(kAnyResamplerVersion));
  return code;
}

std::string_view PictureNode::why_unprepared() const {
  if (!has_planes(way_.pixels)) return "pictures of 16 bits, or with alpha, have no planes to keep";
  return way_.fast ? "decode-image with fast = true leaves no planes to keep" : std::string_view();
}

namespace {

Status check_part(const Geometry& geometry) {
  if (geometry.has_its_part) return Done{};
  const RowPart& part = geometry.part;
  return Error{Trouble::kContent, "the picture has another size than the " + std::to_string(part.width) + " x " +
                                      std::to_string(part.height) +
                                      " pixels for which its tiles were counted: was it replaced?"};
}

}  // namespace

Status PictureNode::run(media::Value&, const media::Run& run) const {
  auto& work = run.workspace.of<PictureWork>();
  work.geometry.part = run.part;
  const Status rendered = run.field->is_prepared ? render_planes(run.field->bytes, run, work) : render_bytes(run, work);
  if (!rendered) return rendered;
  if (run.view) lead(run, work.picture, work.geometry.passes);
  if (drawn_tensor_) {
    const Box& drawn = work.geometry.drawn;
    const std::array<int32_t, 4> box = {drawn.x, drawn.y, drawn.width, drawn.height};
    std::memcpy(run.tensors[*drawn_tensor_].memory, box.data(), sizeof box);
  }
  return Done{};
}

Status PictureNode::render_planes(std::span<const uint8_t> bytes, const media::Run& run, PictureWork& work) const {
  const auto planes = PlanesForm::open(bytes);
  if (!planes)
    return Error{Trouble::kInternal, "what the cache keeps of sample " + std::to_string(run.sample) + " is no picture"};
  work.picture = planes->shape.picture;
  resolve(program_.steps(), planes->shape.picture, run.draws, work.geometry);
  if (const Status same = check_part(work.geometry); !same) return same;
  program_.render(*planes, work.geometry, work.scratch, run.tensors.front().memory);
  return Done{};
}

Status PictureNode::render_bytes(const media::Run& run, PictureWork& work) const {
  media::Field& field = *run.field;
  uint8_t* const out = run.tensors.front().memory;
  const Result<Size> size = work.decoder->open(field.bytes, way_.exif, way_.strict, way_.pixels);
  if (!size) return size.error();
  work.picture = *size;
  program_.resolve(*size, run.draws, work.geometry);
  if (const Status same = check_part(work.geometry); !same) return same;
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
  format.pixels = {part.takes.channels, part.takes.bits / 8};
  format.dtype = part.gives.dtype;
  format.layout = config::layout_named(part.spec.text("layout"));
  return format;
}

}  // namespace spdld::image
