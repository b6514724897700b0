#include "daemon/media/image/programs/program_node.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>

#include "daemon/media/image/codecs/jpeg_round_trip.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/geometry/scratch_bytes.h"
#include "daemon/media/image/geometry/view.h"

namespace spdld::image {
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

}  // namespace

Status ProgramNode::resolve(const Size& picture, const media::Call& call, Geometry& geometry) const {
  geometry.part = call.part;
  geometry.boxes.listed.clear();
  if (asks_for_boxes_) {
    if (const Status taken = take_boxes(call, picture, geometry); !taken) return taken;
  }
  geometry.shape = call.shape;
  program_.resolve(picture, call.draws, geometry);
  return check(geometry);
}

Status ProgramNode::take_scratch(const media::Call& call, const Geometry& geometry, media::MemoryPart& scratch) const {
  const uint64_t bytes = scratch_bytes(geometry, program_.decoded(), call.view.has_value());
  const uint64_t bytes_max = call.workspace.limits().bytes_max;
  if (bytes_max != 0 && bytes > bytes_max) return Error{Trouble::kContent, kScratchTooLarge};
  return scratch.grow_to(bytes) ? Status(Done{}) : media::no_room();
}

Result<uint8_t*> ProgramNode::open_tensor(const media::TensorOut& out, const Geometry& geometry) const {
  if (out.carried == nullptr || out.length != nullptr) return out.at();  // of pieces, take() has made room
  const TensorFormat format = program().format_of(geometry);
  const int64_t height = format.size.height, width = format.size.width, channels = format.pixels.channels;
  const bool is_last = format.layout == config::Layout::kNhwc;
  return out.carried->open(is_last ? std::array{height, width, channels} : std::array{channels, height, width});
}

void ProgramNode::tell(const Size& picture, const media::Call& call, const Geometry& geometry) const {
  if (call.view) lead(call, picture, geometry);
  if (drawn_tensor_) {
    const Box& drawn = geometry.drawn;
    const std::array<int32_t, 4> box = {drawn.x, drawn.y, drawn.width, drawn.height};
    std::memcpy(call.tensors[*drawn_tensor_].memory, box.data(), sizeof box);
  }
  for (const auto& [tensor, place] : geometry.placed) {
    const std::array<int32_t, 4> box = {place.x, place.y, place.width, place.height};
    std::memcpy(call.tensors[tensor].memory, box.data(), sizeof box);
  }
  const auto& grid = geometry.grid;
  if (grid_tensor_) std::memcpy(call.tensors[*grid_tensor_].memory, grid.data(), sizeof grid);
}

ProgramNode& program_node(const media::Nodes& nodes) {
  auto* node = nodes.empty() ? nullptr : dynamic_cast<ProgramNode*>(nodes.back().get());
  if (node == nullptr) throw std::logic_error("an operation on pictures follows no picture");
  return *node;
}

TensorFormat format_of(const media::PlacedOperation& placed) {
  TensorFormat format;
  if (placed.takes.picture().sizes.empty() && placed.takes.is_fixed()) {
    const auto height = placed.takes.dimensions[0].value(), width = placed.takes.dimensions[1].value();
    format.size = {static_cast<int>(width), static_cast<int>(height)};
  }
  format.pixels = {placed.takes.picture().channels, placed.takes.picture().bits / 8};
  format.dtype = placed.gives.dtype();
  format.layout = config::layout_named(placed.spec.text("layout"));
  if (format.layout == config::Layout::kNcthw) {
    format.layout = config::Layout::kNchw;
    format.planes_apart = static_cast<int>(placed.takes.picture().frames.value_or(1));
  }
  return format;
}

}  // namespace spdld::image
