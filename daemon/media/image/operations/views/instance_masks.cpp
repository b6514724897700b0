#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "daemon/media/image/geometry/nearest_rows.h"
#include "daemon/media/image/geometry/view.h"
#include "daemon/media/image/geometry/view_list.h"
#include "daemon/media/image/operations/views/object_mask.h"
#include "daemon/media/operations.h"
#include "daemon/media/text/json/json_reader.h"

namespace spdld::image {
namespace {

using text::ShapeKind;
using text::ShapeList;

// The objects that a decode thread keeps for the shapes of objects.
struct ShapeWork {
  explicit ShapeWork(const media::DecodeLimits& limits) : memory(limits.memory) {}
  void shrink(size_t bytes_max) {
    mask.shrink(bytes_max);
    shapes.shrink(bytes_max);
  }

  text::JsonReader reader;  // of texts that are JSON as a whole
  ShapeList shapes;
  std::vector<uint32_t> all;    // places of shapes
  std::vector<double> corners;  // of a polygon
  ObjectMask mask;
  media::MemoryPart memory;  // of the mask and the texts
  NearestMap map;            // from the tensor to the picture
};

class InstanceMasks final : public media::Node {
 public:
  explicit InstanceMasks(const media::PlacedOperation& placed)
      : output_(placed.output),
        of_(placed.spec.text("of")),
        is_relative_(placed.spec.flag("relative")),
        reads_json_(placed.takes.bytes().origin == config::Origin::kJson),
        size_{static_cast<int>(placed.gives.dimensions[2].value()),
              static_cast<int>(placed.gives.dimensions[1].value())} {}

  bool reads_json() const override { return reads_json_; }

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = draw_all(value, call);
    return status ? status : media::of_output(output_, status.error());
  }

 private:
  Status draw_all(const media::Value& value, const media::Call& call) const {
    View* const view = followed(call);
    if (view == nullptr || view->end() != size_) return no_view(call);
    auto& work = call.workspace.of<ShapeWork>();
    if (const Status read = this->read(value, work); !read) return read;
    const Result<std::span<const uint32_t>> kept = this->kept(*view, call, work);
    if (!kept) return kept.error();
    const media::TensorOut& out = call.tensors.front();
    const Result<uint64_t> taken = out.take(kept->size());
    if (!taken) return taken.error();
    if (*taken == 0) return Done{};
    const auto pixels = static_cast<uint64_t>(view->picture.width) * static_cast<uint64_t>(view->picture.height);
    if (!work.memory.add(ByteBuffer::room_for(pixels))) return media::no_room();
    nearest(*view, work.map);
    work.mask.open(view->picture);
    const size_t bytes = static_cast<size_t>(size_.width) * static_cast<size_t>(size_.height);
    for (uint64_t i = 0; i < *taken; ++i) {
      const size_t place = (*kept)[i];
      call.workspace.guard().spend(bytes);
      if (const Status drawn = draw(work.shapes.shapes[place], view->picture, work); !drawn)
        return Error{drawn.error().trouble,
                     "object " + std::to_string(place) + " (counted from 0): " + drawn.error().message};
      write_nearest<uint8_t>(
          work.map, view->picture.width, 0, [&](int y) { return work.mask.row(y); }, out.at() + bytes * i);
    }
    return Done{};
  }

  Status read(const media::Value& value, ShapeWork& work) const {
    if (reads_json_) return value.json->reader.read_shapes(value.json->steps, work.shapes);
    if (!work.memory.add(value.bytes.size() * text::kJsonBytesPerByte)) return media::no_room();
    if (const Status read = work.reader.read(value.bytes); !read) return read;
    return work.reader.read_shapes({}, work.shapes);
  }

  // The places of the shapes that are wanted.
  Result<std::span<const uint32_t>> kept(const View& view, const media::Call& call, ShapeWork& work) const {
    const size_t listed = work.shapes.shapes.size();
    if (of_.empty()) {
      work.all.resize(listed);
      std::iota(work.all.begin(), work.all.end(), uint32_t{0});
      return std::span<const uint32_t>(work.all);
    }
    const View::Kept* const kept = view.find_kept(of_);
    if (kept == nullptr) return no_view(call);
    if (kept->listed != listed) return other_length(listed, *kept);
    return std::span<const uint32_t>(kept->places);
  }

  Status draw(const ShapeList::Shape& shape, const Size& picture, ShapeWork& work) const {
    work.mask.begin();
    if (shape.kind != ShapeKind::kPolygons && (shape.width != picture.width || shape.height != picture.height))
      return Error{Trouble::kContent, "its counts are for a picture of " + std::to_string(shape.width) + " x " +
                                          std::to_string(shape.height) + " pixels, and its picture has " +
                                          std::to_string(picture.width) + " x " + std::to_string(picture.height)};
    if (shape.kind == ShapeKind::kRuns) return work.mask.add_runs(work.shapes.runs_of(shape));
    if (shape.kind == ShapeKind::kPackedRuns) return work.mask.add_packed_runs(work.shapes.packed_of(shape));
    for (const auto& polygon : work.shapes.polygons_of(shape)) {
      const auto numbers = work.shapes.numbers_of(polygon);
      work.corners.assign(numbers.begin(), numbers.end());
      if (is_relative_)
        for (size_t i = 0; i < work.corners.size(); ++i) work.corners[i] *= i % 2 == 0 ? picture.width : picture.height;
      if (const Status added = work.mask.add_polygon(work.corners); !added) return added;
    }
    return Done{};
  }

  std::string output_, of_;
  bool is_relative_, reads_json_;
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void instance_masks(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<image::InstanceMasks>(placed));
}

}  // namespace spdld::media::ops
