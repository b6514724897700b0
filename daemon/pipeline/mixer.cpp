#include "daemon/pipeline/mixer.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "daemon/mixing/rows.h"
#include "daemon/sampler/pushed.h"

namespace spdld::pipeline {
namespace {

size_t index_of(const batch::Layout& layout, const std::string& name) {
  const auto& tensors = layout.tensors();
  for (size_t i = 0; i < tensors.size(); i++)
    if (tensors[i].name == name) return i;
  throw std::logic_error("no tensor is called " + name);
}

const config::OutputSpec& output_of(const config::PipelineSpec& spec, const std::string& name) {
  return *std::find_if(spec.outputs.begin(), spec.outputs.end(),
                       [&](const auto& output) { return output.name == name; });
}

uint64_t elements_of(const batch::TensorPlace& tensor) {
  return tensor.sample_bytes / config::dtype_bytes(tensor.dtype);
}

}  // namespace

Mixer::Mixer(const config::PipelineSpec& spec, const batch::Layout& layout)
    : layout_(layout),
      seed_(spec.seed),
      group_(spec.batch.group),
      is_pushed_(spec.order.shuffle == config::Shuffle::kClient),
      sample_id_(index_of(layout, "sample_id")) {
  double sum = 0;
  for (const auto& op : spec.batch.ops) {
    Applied& applied = applied_.emplace_back();
    applied.up_to = sum += op.share;
    applied.uses.resize(layout.tensors().size());
    mixing::Part part{op, {}};
    for (const auto& name : op.images) {
      applied.uses[index_of(layout, name)] = Use{part.images.size()};
      part.images.push_back(config::end_of(output_of(spec, name)));
    }
    for (const auto& name : op.labels) applied.uses[index_of(layout, name)] = Use{};
    applied.operation = mixing::make_operation(part);
  }
  for (size_t i = 0; i < layout.tensors().size(); i++)
    if (std::any_of(applied_.begin(), applied_.end(), [i](const Applied& one) { return one.uses[i].has_value(); }))
      tensors_.push_back(i);
  if (!spec.batch.lam.empty()) lam_ = index_of(layout, spec.batch.lam);
  if (!spec.batch.partner.empty()) partner_ = index_of(layout, spec.batch.partner);
}

void Mixer::run(const batch::Batch& batch, uint8_t* memory) const {
  Work work;
  uint64_t row_bytes = 0;
  for (const size_t tensor : tensors_) row_bytes = std::max(row_bytes, layout_.tensors()[tensor].sample_bytes);
  work.scratch.resize(row_bytes);
  work.group.reserve(std::min(group_, batch.slice.count));
  work.is_masked.resize(batch.slice.count);
  for (const uint32_t index : batch.masked) work.is_masked[index] = true;
  for (uint64_t i = 0; i < batch.slice.count; i++) {
    if (lam_) *reinterpret_cast<float*>(layout_.sample_at(memory, *lam_, i)) = 1;
    if (partner_)
      std::memcpy(layout_.sample_at(memory, *partner_, i), layout_.sample_at(memory, sample_id_, i), sizeof(int64_t));
  }
  for (uint64_t first = 0; first < batch.slice.count;) {
    const uint64_t to_end = group_ - (batch.slice.first + first) % group_;
    const uint64_t end = std::min(first + to_end, batch.slice.count);
    work.group.clear();
    for (uint64_t i = first; i < end; i++)
      if (!work.is_masked[i]) work.group.push_back({.index = i});
    first = end;
    if (work.group.size() < 2) continue;
    draw_group(batch, memory, work);
    for (const size_t tensor : tensors_) mix_tensor(tensor, memory, work);
    tell(work, memory);
  }
}

uint64_t Mixer::number_of(const batch::Batch& batch, uint64_t index, uint8_t* memory) const {
  if (!is_pushed_) return batch.slice.first + index;
  uint64_t id = 0;
  std::memcpy(&id, layout_.sample_at(memory, sample_id_, index), sizeof id);
  return mix_bits(sampler::Pushed::place(batch.position.step, index)) ^ id;
}

void Mixer::draw_group(const batch::Batch& batch, uint8_t* memory, Work& work) const {
  for (Member& member : work.group) {
    const Draws draws{seed_, batch.position.epoch, number_of(batch, member.index, memory)};
    const double chosen = draws.named(draw_key("batch.ops")).uniform(0, 1);
    const auto at =
        std::find_if(applied_.begin(), applied_.end(), [&](const Applied& one) { return chosen < one.up_to; });
    if (at == applied_.end()) continue;
    member.applied = &*at;
    member.mix = at->operation->draw(draws);
  }
}

// From the last sample to the first: so each partner is still as it was, but for the last sample, which is kept.
void Mixer::mix_tensor(size_t tensor, uint8_t* memory, Work& work) const {
  const auto row = [&](const Member& member) { return layout_.sample_at(memory, tensor, member.index); };
  const auto is_mixed = [&](const Member& member) { return member.applied && member.applied->uses[tensor]; };
  const auto& group = work.group;
  if (is_mixed(group.front()))
    std::memcpy(work.scratch.data(), row(group.back()), layout_.tensors()[tensor].sample_bytes);
  for (size_t i = group.size() - 1; i > 0; i--)
    if (is_mixed(group[i])) mix_row(tensor, group[i], row(group[i]), row(group[i - 1]));
  if (is_mixed(group.front())) mix_row(tensor, group.front(), row(group.front()), work.scratch.data());
}

void Mixer::mix_row(size_t tensor, const Member& member, uint8_t* own, const uint8_t* partner) const {
  const batch::TensorPlace& place = layout_.tensors()[tensor];
  if (const auto image = member.applied->uses[tensor]->image)
    member.applied->operation->mix(member.mix, *image, own, partner);
  else
    mixing::mix_rows(place.dtype, member.mix.lam, elements_of(place), own, partner);
}

void Mixer::tell(const Work& work, uint8_t* memory) const {
  for (size_t i = 0; i < work.group.size(); i++) {
    const Member& member = work.group[i];
    const Member& partner = work.group[(i + work.group.size() - 1) % work.group.size()];
    if (!member.applied) continue;
    if (lam_)
      *reinterpret_cast<float*>(layout_.sample_at(memory, *lam_, member.index)) = static_cast<float>(member.mix.lam);
    if (partner_)
      std::memcpy(layout_.sample_at(memory, *partner_, member.index),
                  layout_.sample_at(memory, sample_id_, partner.index), sizeof(int64_t));
  }
}

}  // namespace spdld::pipeline
