#include "daemon/media/image/picture_node.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "daemon/media/image/jpeg_round_trip.h"
#include "daemon/media/image/picture_limits.h"
#include "daemon/media/image/resample.h"
#include "daemon/media/image/resample_any.h"
#include "daemon/media/image/srgb_transforms.h"
#include "daemon/media/image/view.h"

namespace spdld::image {

void PictureWork::shrink(size_t bytes_max) { decodings.shrink(bytes_max); }

std::vector<std::string> PictureNode::code() const {
  std::vector<std::string> code = picture_codes();
  code.push_back("resampler " + std::to_string(kResamplerVersion));
  if (std::string colours = colour_code(); way_.pixels.srgb && !colours.empty()) code.push_back(std::move(colours));
  if (!has_planes(way_.pixels)) code.push_back("resampler of any pixels " + std::to_string(kAnyResamplerVersion));
  return code;
}

std::string_view PictureNode::why_unprepared() const {
  if (!has_planes(way_.pixels))
    return "pictures of 16 bits, with alpha, in sRGB by their profiles, or of later frames have no planes to keep";
  return way_.fast ? "decode-image with fast = true leaves no planes to keep" : std::string_view();
}

namespace {

Status check(const Geometry& geometry) {
  if (geometry.too_large)
    return Error{Trouble::kContent, "the picture would have " + std::to_string(geometry.too_large->width) + " x " +
                                        std::to_string(geometry.too_large->height) +
                                        " pixels after an operation that makes it larger: at most " +
                                        std::to_string(kPixelsMax) + " are allowed"};
  if (geometry.too_small)
    return Error{Trouble::kContent, "the picture has " + std::to_string(geometry.too_small->width) + " x " +
                                        std::to_string(geometry.too_small->height) +
                                        " pixels where larger pieces are cut out of it: resize it to more before"};
  if (geometry.beyond_jpeg)
    return Error{Trouble::kContent,
                 "the picture has " + std::to_string(geometry.beyond_jpeg->width) + " x " +
                     std::to_string(geometry.beyond_jpeg->height) + " pixels where `jpeg` stands: a JPEG has at most " +
                     std::to_string(kJpegSideMax) + " on a side, so put a resize or a crop before it"};
  if (geometry.has_its_part) return Done{};
  const RowPart& part = geometry.part;
  return Error{Trouble::kContent, "the picture has another size than the " + std::to_string(part.width) + " x " +
                                      std::to_string(part.height) +
                                      " pixels for which its tiles were counted: was it replaced?"};
}

// The pieces that the tensor takes, where samples have different numbers of them.
Status take_pieces(const media::Run& run, Geometry& geometry) {
  const media::TensorOut& out = run.tensors.front();
  if (out.length == nullptr) return Done{};
  const Result<uint64_t> taken = out.take(geometry.pieces.size());
  if (!taken) return taken.error();
  geometry.pieces.resize(*taken);
  return Done{};
}

// A field's picture of the sample before means nothing any more.
void begin(media::Field& field, PictureWork& work) {
  if (field.is_begun) return;
  work.decodings.forget(field.number);
  if (work.opened && work.opened->field == field.number) work.opened.reset();
  field.is_begun = true;
}

}  // namespace

Status PictureNode::announce(const media::Run& run) const {
  if (run.field->is_prepared) return Done{};
  auto& work = run.workspace.of<PictureWork>();
  begin(*run.field, work);
  const Result<Decoding*> asked = ask(run, work);
  return asked ? Status(Done{}) : asked.error();
}

Status PictureNode::run(media::Value&, const media::Run& run) const {
  auto& work = run.workspace.of<PictureWork>();
  const Status rendered = run.field->is_prepared ? render_planes(run.field->bytes, run, work) : render_bytes(run, work);
  if (!rendered) return rendered;
  if (run.view) lead(run, work.picture, work.geometry);
  if (drawn_tensor_) {
    const Box& drawn = work.geometry.drawn;
    const std::array<int32_t, 4> box = {drawn.x, drawn.y, drawn.width, drawn.height};
    std::memcpy(run.tensors[*drawn_tensor_].memory, box.data(), sizeof box);
  }
  for (const auto& [tensor, place] : work.geometry.placed) {
    const std::array<int32_t, 4> box = {place.x, place.y, place.width, place.height};
    std::memcpy(run.tensors[tensor].memory, box.data(), sizeof box);
  }
  const auto& grid = work.geometry.grid;
  if (grid_tensor_) std::memcpy(run.tensors[*grid_tensor_].memory, grid.data(), sizeof grid);
  return Done{};
}

Status PictureNode::resolve(const Size& picture, const media::Run& run, PictureWork& work) const {
  work.picture = picture;
  work.geometry.part = run.part;
  work.geometry.boxes.listed.clear();
  if (asks_for_boxes_) {
    if (const Status taken = take_boxes(run, picture, work.geometry); !taken) return taken;
  }
  work.geometry.shape = run.shape;
  program_.resolve(picture, run.draws, work.geometry);
  return check(work.geometry);
}

Status PictureNode::render_planes(std::span<const uint8_t> bytes, const media::Run& run, PictureWork& work) const {
  const auto planes = PlanesForm::open(bytes);
  if (!planes)
    return Error{Trouble::kInternal, "what the cache keeps of sample " + std::to_string(run.sample) + " is no picture"};
  if (const Status resolved = resolve(planes->shape.picture, run, work); !resolved) return resolved;
  if (const Status taken = take_pieces(run, work.geometry); !taken) return taken;
  program_.render(*planes, work.geometry, work.scratch, run.tensors.front().memory);
  return Done{};
}

Result<Size> PictureNode::open(const media::Field& field, PictureWork& work) const {
  work.opened.reset();
  const Result<Size> size = work.decoder->open(field.bytes, way_.exif, way_.strict, way_.pixels);
  if (size) work.opened = wanted(field);
  return size;
}

Status PictureNode::reopen(const media::Field& field, PictureWork& work) const {
  if (work.opened == wanted(field)) return Done{};
  const Result<Size> size = open(field, work);
  return size ? Status(Done{}) : size.error();
}

Result<Decoding*> PictureNode::ask(const media::Run& run, PictureWork& work) const {
  const media::Field& field = *run.field;
  const std::optional<Size> known = work.decodings.picture_of(wanted(field));
  const Result<Size> picture = known ? Result<Size>(*known) : open(field, work);
  if (!picture) return picture.error();
  if (const Status resolved = resolve(*picture, run, work); !resolved) return resolved.error();
  int& reduction = work.geometry.reduction;
  if (reduction > 1) {
    if (const Status opened = reopen(field, work); !opened) return opened.error();
  }
  while (reduction > 1 && !work.decoder->planes(reduction)) reduction /= 2;
  return &work.decodings.ask(wanted(field), *picture, reduction, work.geometry.decoded);
}

Status PictureNode::decode(Decoding& decoding, media::Field& field, PictureWork& work) const {
  if (const Status opened = reopen(field, work); !opened) return opened;
  if (const auto shape = work.decoder->planes(decoding.reduction)) {
    const auto planes = PlanesForm::prepare(*shape, field, *work.decoder, decoding);
    if (!planes) return planes.error();
    decoding.planes = *planes;
  } else {
    const Status decoded = work.decoder->decode(decoding.box, decoding.rows);
    if (!decoded) return decoded;
    if (field.keeper) field.keeper->keep_as_fetched(field.bytes);
  }
  decoding.is_done = true;
  return Done{};
}

Status PictureNode::render_bytes(const media::Run& run, PictureWork& work) const {
  begin(*run.field, work);
  const Result<Decoding*> asked = ask(run, work);
  if (!asked) return asked.error();
  if (const Status taken = take_pieces(run, work.geometry); !taken) return taken;
  Decoding& decoding = **asked;
  if (!decoding.is_done) {
    if (const Status decoded = decode(decoding, *run.field, work); !decoded) return decoded;
  }
  uint8_t* const out = run.tensors.front().memory;
  if (decoding.planes) {
    program_.render(*decoding.planes, work.geometry, work.scratch, out);
  } else {
    program_.render(decoding.rows, work.geometry, work.scratch, out);
  }
  return Done{};
}

PictureNode& picture_node(const media::Nodes& nodes) {
  auto* node = nodes.empty() ? nullptr : dynamic_cast<PictureNode*>(nodes.back().get());
  if (node == nullptr) throw std::logic_error("an operation on pictures follows no picture");
  return *node;
}

TensorFormat format_of(const media::Part& part) {
  TensorFormat format;
  if (part.takes.sizes.empty()) {
    const auto height = part.takes.dimensions[0].value(), width = part.takes.dimensions[1].value();
    format.size = {static_cast<int>(width), static_cast<int>(height)};
  }
  format.pixels = {part.takes.channels, part.takes.bits / 8};
  format.dtype = part.gives.dtype;
  format.layout = config::layout_named(part.spec.text("layout"));
  return format;
}

}  // namespace spdld::image
