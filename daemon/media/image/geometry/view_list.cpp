#include "daemon/media/image/geometry/view_list.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/text/list_value.h"

namespace spdld::image {

Error no_view(const media::Call& call) {
  return {Trouble::kInternal, "sample " + std::to_string(call.sample) + " has no geometry of its view"};
}

Error other_length(uint64_t listed, const View::Kept& kept) {
  return {Trouble::kContent, "the list has " + std::to_string(listed) + " elements, and the list of output '" +
                                 kept.output + "' has " + std::to_string(kept.listed) +
                                 ": each element belongs to one of them"};
}

ViewListNode::ViewListNode(const media::PlacedOperation& placed, uint64_t columns)
    : output_(placed.output), columns_(columns), reads_json_(placed.takes.bytes().origin == config::Origin::kJson) {}

Result<std::span<float>> ViewListNode::read(const media::Value& value, const media::Call& call) const {
  auto& work = call.workspace.of<text::ListWork>();
  const text::ListKind kind{config::DType::kFloat32, columns_, reads_json_};
  const Result<uint64_t> listed = text::read_list_value(value, kind, work);
  if (!listed) return media::of_output(output_, listed.error());
  return std::span(reinterpret_cast<float*>(work.memory.data()), *listed * columns_);
}

Status ViewListNode::run(media::Value& value, const media::Call& call) const {
  const Result<std::span<float>> numbers = read(value, call);
  if (!numbers) return numbers.error();
  const Status status = move_all(*numbers, call);
  return status ? status : media::of_output(output_, status.error());
}

Status ViewListNode::move_all(std::span<float> numbers, const media::Call& call) const {
  View* const view = followed(call);
  if (view == nullptr) return no_view(call);
  const uint64_t listed = numbers.size() / columns_;
  View::Kept& kept = view->keep(output_);
  kept.listed = listed;
  uint64_t count = 0;  // each row that stays comes to the place of a row that was moved before
  for (uint64_t i = 0; i < listed; ++i) {
    if (view->drops(output_, i)) continue;
    float* const row = numbers.data() + columns_ * i;
    const Result<bool> stays = move(row, i, *view);
    if (!stays) return stays.error();
    if (!*stays) continue;
    std::copy_n(row, columns_, numbers.data() + columns_ * count++);
    kept.places.push_back(static_cast<uint32_t>(i));
  }
  const media::TensorOut& out = call.tensors.front();
  const Result<uint64_t> taken = out.take(count);
  if (!taken) return taken.error();
  kept.places.resize(*taken);
  if (*taken > 0) std::memcpy(out.at(), numbers.data(), *taken * columns_ * sizeof(float));
  return Done{};
}

}  // namespace spdld::image
