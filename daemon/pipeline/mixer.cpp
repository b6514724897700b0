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
  varying_.resize(layout.tensors().size());
  for (size_t k = 0; k < layout.varying().size(); ++k) varying_[layout.varying()[k]] = k;
  double sum = 0;
  for (const auto& op : spec.batch.ops) {
    const config::BatchOperationType& type = *config::find_batch_operation(op.op);
    Applied& applied = applied_.emplace_back();
    applied.up_to = sum += op.share;
    applied.partners = type.partners;
    partners_max_ = std::max(partners_max_, applied.partners);
    applied.uses.resize(layout.tensors().size());
    mixing::Part part{op, {}};
    for (const auto& name : op.images) {
      applied.uses[index_of(layout, name)] = Use{Use::How::kImage, part.images.size()};
      part.images.push_back(config::end_of(output_of(spec, name)));
    }
    const bool has_lists = !type.boxes.empty();
    for (const auto& name : op.labels)
      applied.uses[index_of(layout, name)] = Use{has_lists ? Use::How::kList : Use::How::kLabel};
    if (has_lists) {
      const std::string& name = op.text(type.boxes);
      applied.boxes = index_of(layout, name);
      applied.uses[*applied.boxes] = Use{Use::How::kBoxes};
      applied.rows_max = layout.length_max(*applied.boxes);
      for (const auto& label : op.labels)
        applied.rows_max = std::min(applied.rows_max, layout.length_max(index_of(layout, label)));
      part.boxes = box_format_named(config::box_format_of(output_of(spec, name)));
    }
    applied.operation = mixing::make_operation(part);
  }
  for (size_t i = 0; i < layout.tensors().size(); i++)
    if (std::any_of(applied_.begin(), applied_.end(), [i](const Applied& one) { return one.uses[i].has_value(); }))
      tensors_.push_back(i);
  if (!spec.batch.lam.empty()) lam_ = index_of(layout, spec.batch.lam);
  if (!spec.batch.partner.empty()) partner_ = index_of(layout, spec.batch.partner);
}

// All memory that the batch needs, so that there is no lack of memory later.
Mixer::Work Mixer::work_for(const batch::Batch& batch) const {
  Work work;
  uint64_t bytes = 0, list_bytes = 0, rows = 0;
  for (const size_t tensor : tensors_) {
    bytes = std::max(bytes, layout_.tensors()[tensor].sample_bytes);
    if (varying_[tensor]) list_bytes = std::max(list_bytes, layout_.tensors()[tensor].sample_bytes);
  }
  for (const Applied& applied : applied_) rows = std::max(rows, applied.rows_max);
  const uint64_t members = std::min(group_, batch.slice.count);
  work.scratch.resize(std::min<uint64_t>(partners_max_, members) * bytes);
  work.made.resize(list_bytes);
  work.group.reserve(members);
  work.rows.reserve(members);
  work.taken.reserve(members * rows);
  work.of_sample.reserve(partners_max_ + 1);
  work.partners.reserve(partners_max_);
  work.is_masked.resize(batch.slice.count);
  return work;
}

void Mixer::run(const batch::Batch& batch, uint8_t* memory) const {
  Work work = work_for(batch);
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
    choose_rows(batch, memory, work);
    for (const size_t tensor : tensors_) mix_tensor(batch, tensor, memory, work);
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
    if (at == applied_.end() || at->partners >= work.group.size()) continue;
    member.applied = &*at;
    member.mix = at->operation->draw(draws);
  }
}

uint64_t Mixer::row_bytes(size_t tensor, uint32_t count) const {
  return varying_[tensor] ? count * layout_.value_bytes(tensor) : layout_.tensors()[tensor].sample_bytes;
}

void Mixer::find_rows(const batch::Batch& batch, size_t tensor, uint8_t* memory, Work& work) const {
  work.rows.clear();
  for (const Member& member : work.group) {
    const uint8_t* const row = layout_.sample_at(memory, tensor, member.index);
    const auto k = varying_[tensor];
    work.rows.push_back({row, k ? batch.slot->contents.lengths_of(layout_, *k)[member.index] : 0});
  }
}

void Mixer::take_rows(size_t i, size_t partners, Work& work) const {
  const size_t count = work.group.size();
  work.of_sample.clear();
  for (size_t back = 0; back <= partners; ++back) work.of_sample.push_back(work.rows[(i + count - back) % count]);
}

// The rows that each member takes over, before any list is changed.
void Mixer::choose_rows(const batch::Batch& batch, uint8_t* memory, Work& work) const {
  work.taken.clear();
  for (const Applied& applied : applied_) {
    if (!applied.boxes) continue;
    find_rows(batch, *applied.boxes, memory, work);
    for (size_t i = 0; i < work.group.size(); ++i) {
      Member& member = work.group[i];
      if (member.applied != &applied) continue;
      take_rows(i, applied.partners, work);
      member.first_taken = work.taken.size();
      applied.operation->lists()->choose(member.mix, work.of_sample, applied.rows_max, work.taken);
      member.taken = work.taken.size() - member.first_taken;
    }
  }
}

// From the last sample to the first: so each partner is still as it was, but for the last samples, which are kept.
void Mixer::mix_tensor(const batch::Batch& batch, size_t tensor, uint8_t* memory, Work& work) const {
  const auto& group = work.group;
  const auto is_mixed = [&](const Member& member) { return member.applied && member.applied->uses[tensor]; };
  find_rows(batch, tensor, memory, work);
  uint8_t* kept = work.scratch.data();
  for (size_t i = group.size() - std::min(partners_max_, group.size() - 1); i < group.size(); ++i) {
    const uint64_t bytes = row_bytes(tensor, work.rows[i].count);
    std::memcpy(kept, work.rows[i].memory, bytes);
    work.rows[i].memory = kept;
    kept += bytes;
  }
  for (size_t i = group.size(); i-- > 0;) {
    if (!is_mixed(group[i])) continue;
    take_rows(i, group[i].applied->partners, work);
    uint8_t* const own = layout_.sample_at(memory, tensor, group[i].index);
    const Use::How how = group[i].applied->uses[tensor]->how;
    if (how == Use::How::kBoxes || how == Use::How::kList) {
      make_list(batch, tensor, group[i], own, work);
      continue;
    }
    work.partners.clear();
    for (size_t other = 1; other < work.of_sample.size(); ++other)
      work.partners.push_back(work.of_sample[other].memory);
    mix_row(tensor, group[i], own, work.partners);
  }
}

void Mixer::mix_row(size_t tensor, const Member& member, uint8_t* own, std::span<const uint8_t* const> partners) const {
  const batch::TensorPlace& place = layout_.tensors()[tensor];
  const Use& use = *member.applied->uses[tensor];
  if (use.how == Use::How::kImage)
    member.applied->operation->mix(member.mix, use.image, own, partners);
  else
    mixing::mix_rows(place.dtype, member.mix.lam, elements_of(place), own, partners.front());
}

// A list's rows are single values, a few numbers, or masks in the picture's size: only these have two dimensions.
void Mixer::make_list(const batch::Batch& batch, size_t tensor, const Member& member, uint8_t* own, Work& work) const {
  const batch::TensorPlace& place = layout_.tensors()[tensor];
  const size_t dimensions = place.sample_shape.size() - (place.role == batch::Role::kValues ? 0 : 1);
  const bool is_boxes = member.applied->uses[tensor]->how == Use::How::kBoxes;
  const mixing::Lists& lists = *member.applied->operation->lists();
  const uint64_t bytes = layout_.value_bytes(tensor);
  uint8_t* out = work.made.data();
  for (const mixing::TakenRow& row : std::span(work.taken).subspan(member.first_taken, member.taken)) {
    const uint8_t* const from = work.of_sample[row.from].memory + bytes * row.place;
    if (is_boxes)
      lists.write_box(member.mix, row.from, from, out);
    else if (dimensions == 2)
      lists.write_mask(member.mix, row.from, from, out);
    else
      std::memcpy(out, from, bytes);
    out += bytes;
  }
  std::memcpy(own, work.made.data(), bytes * member.taken);
  batch.slot->contents.lengths_of(layout_, *varying_[tensor])[member.index] = static_cast<uint32_t>(member.taken);
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
