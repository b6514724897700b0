#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "daemon/media/image/geometry/nearest_rows.h"
#include "daemon/media/image/geometry/view_list.h"
#include "daemon/media/image/operations/views/mask_file.h"
#include "daemon/media/operations.h"

namespace spdld::image {
namespace {

constexpr size_t kIds = 65'536;

// The objects that a decode thread keeps for masks of objects.
struct ObjectWork {
  explicit ObjectWork(const media::DecodeLimits&) {}
  void shrink(size_t) {}

  std::bitset<kIds> seen;       // in the mask
  std::vector<uint32_t> ids;    // that are wanted
  std::vector<uint16_t> shown;  // the id of each pixel of the tensor
};

class ObjectMasks final : public media::Node {
 public:
  explicit ObjectMasks(const media::PlacedOperation& placed)
      : output_(placed.output),
        of_(placed.spec.text("of")),
        ignored_(placed.spec.integer("ignore")),
        size_{static_cast<int>(placed.gives.dimensions[2].value()),
              static_cast<int>(placed.gives.dimensions[1].value())} {}

  Status run(media::Value& value, const media::Call& call) const override {
    const Status status = split(value.bytes, call);
    return status ? status : media::of_output(output_, status.error());
  }
  std::vector<std::string> code() const override { return {png_code()}; }

 private:
  Status split(std::span<const uint8_t> content, const media::Call& call) const {
    auto& mask = call.workspace.of<MaskWork>();
    if (const Status read = read_mask(content, {Colours::kStored, 16}, size_, call, mask); !read) return read;
    auto& work = call.workspace.of<ObjectWork>();
    const auto row = [&](int y) { return reinterpret_cast<const uint16_t*>(mask.rows.row(y)); };
    const Size& picture = mask.rows.picture;
    work.seen.reset();
    for (int y = 0; y < picture.height; ++y)
      std::for_each_n(row(y), picture.width, [&](uint16_t id) { work.seen.set(id); });
    work.seen.reset(0);
    if (ignored_ >= 0) work.seen.reset(static_cast<size_t>(ignored_));
    if (const Status chosen = choose(call, work); !chosen) return chosen;
    const media::TensorOut& out = call.tensors.front();
    const Result<uint64_t> taken = out.take(work.ids.size());
    if (!taken) return taken.error();
    work.shown.resize(static_cast<size_t>(size_.width) * static_cast<size_t>(size_.height));
    write_nearest<uint16_t>(mask.map, picture.width, 0, row, work.shown.data());
    uint8_t* to = out.at();
    for (uint64_t i = 0; i < *taken; ++i) {
      call.workspace.guard().spend(work.shown.size());
      const uint32_t wanted = work.seen[work.ids[i]] ? work.ids[i] : kIds;
      to = std::transform(work.shown.begin(), work.shown.end(), to,
                          [wanted](uint16_t id) { return static_cast<uint8_t>(id == wanted ? 1 : 0); });
    }
    return Done{};
  }

  // The ids of the objects that are wanted: all ids of the mask, or the kept places of another list, counted from 1.
  Status choose(const media::Call& call, ObjectWork& work) const {
    work.ids.clear();
    if (of_.empty()) {
      for (size_t id = 1; id < kIds; ++id)
        if (work.seen[id]) work.ids.push_back(static_cast<uint32_t>(id));
      return Done{};
    }
    const View::Kept* const kept = followed(call)->find_kept(of_);
    if (kept == nullptr) return no_view(call);
    for (size_t id = kept->listed + 1; id < kIds; ++id)
      if (work.seen[id])
        return Error{Trouble::kContent, "the mask has an object " + std::to_string(id) + ", and the list of output '" +
                                            of_ + "' has " + std::to_string(kept->listed) + " elements"};
    for (const uint32_t place : kept->places) work.ids.push_back(place + 1);
    return Done{};
  }

  std::string output_, of_;
  int64_t ignored_;  // -1: none
  Size size_;
};

}  // namespace
}  // namespace spdld::image

namespace spdld::media::ops {

void object_masks(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<image::ObjectMasks>(placed));
}

}  // namespace spdld::media::ops
