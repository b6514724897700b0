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

// A list's rows are single values, a few numbers, or masks in the picture's size: only these have two dimensions.
bool is_masks(const batch::TensorPlace& list) {
  return list.sample_shape.size() == (list.role == batch::Role::kValues ? 2 : 3);
}

uint64_t elements_of(const batch::TensorPlace& tensor) {
  return tensor.sample_bytes / config::dtype_bytes(tensor.dtype);
}

}  // namespace

Mixer::Mixer(const config::PipelineSpec& spec, const batch::Layout& layout)
    : layout_(layout),
      seed_(spec.seed),
      group_(spec.batch.group),
      apart_(spec.order.repeats),
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
    mixing::PlacedOperation placed{op, {}};
    for (const auto& name : op.images) {
      applied.uses[index_of(layout, name)] = Use{Use::How::kImage, placed.images.size()};
      placed.images.push_back(config::end_of(output_of(spec, name)));
    }
    const bool has_lists = !type.boxes.empty();
    for (const auto& name : op.labels) {
      const size_t tensor = index_of(layout, name);
      const Use::How as_list = is_masks(layout.tensors()[tensor]) ? Use::How::kMasks : Use::How::kList;
      applied.uses[tensor] = Use{has_lists ? as_list : Use::How::kLabel};
    }
    if (has_lists) {
      const std::string& name = op.text(type.boxes);
      applied.boxes = index_of(layout, name);
      applied.uses[*applied.boxes] = Use{Use::How::kBoxes};
      applied.rows_max = layout.length_max(*applied.boxes);
      for (const auto& label : op.labels)
        applied.rows_max = std::min(applied.rows_max, layout.length_max(index_of(layout, label)));
      placed.boxes = box_format_named(config::box_format_of(output_of(spec, name)));
    }
    if (!type.inside.empty() && !op.text(std::string(type.inside)).empty()) {
      const config::PictureShape shape = config::shape_of(placed.images.front());
      applied.inside = index_of(layout, op.text(std::string(type.inside)));
      applied.height = shape.height;
      applied.width = shape.width;
    }
    if (!type.masks.empty()) {
      const config::PictureShape shape = config::shape_of(placed.images.front());
      applied.masks = index_of(layout, op.text(type.masks));
      applied.pixels = shape.height * shape.width;
    }
    applied.operation = mixing::make_operation(placed);
  }
  for (size_t i = 0; i < layout.tensors().size(); i++)
    if (std::any_of(applied_.begin(), applied_.end(), [i](const Applied& one) { return one.uses[i].has_value(); }))
      tensors_.push_back(i);
  const auto turn = [&](size_t tensor) {
    Use::How last = Use::How::kImage;
    for (const Applied& applied : applied_)
      if (applied.uses[tensor]) last = std::max(last, applied.uses[tensor]->how);
    return last;
  };
  std::stable_sort(tensors_.begin(), tensors_.end(), [&](size_t a, size_t b) { return turn(a) < turn(b); });
  if (!spec.batch.lam.empty()) lam_ = index_of(layout, spec.batch.lam);
  if (!spec.batch.partner.empty()) partner_ = index_of(layout, spec.batch.partner);
}

Mixer::Sizes Mixer::sizes_for(const batch::Batch& batch) const {
  Sizes sizes;
  uint64_t bytes = 0;
  for (const size_t tensor : tensors_) {
    bytes = std::max(bytes, layout_.tensors()[tensor].sample_bytes);
    if (varying_[tensor]) sizes.made = std::max(sizes.made, layout_.tensors()[tensor].sample_bytes);
  }
  for (const Applied& applied : applied_) {
    sizes.canvas = std::max<uint64_t>(sizes.canvas, applied.operation->canvas_bytes());
    // A choice may note every row of a list before it keeps some of them.
    sizes.rows =
        std::max(sizes.rows, applied.rows_max + (applied.boxes ? layout_.length_max(*applied.boxes) : uint64_t{0}));
    sizes.shade = std::max(sizes.shade, applied.pixels);
  }
  sizes.members = std::min(group_, batch.slice.count);
  sizes.scratch = std::min<uint64_t>(partners_max_ * apart_, sizes.members) * bytes;
  return sizes;
}

uint64_t Mixer::bytes_of(const batch::Batch& batch) const {
  const Sizes sizes = sizes_for(batch);
  return sizes.scratch + sizes.made + sizes.shade + sizes.canvas +
         sizes.members * (sizeof(Member) + 2 * sizeof(mixing::ListRows) + sizes.rows * sizeof(mixing::TakenRow));
}

// All memory that the batch needs, so that there is no lack of memory later.
Mixer::Work Mixer::work_for(const batch::Batch& batch) const {
  const Sizes sizes = sizes_for(batch);
  Work work;
  work.scratch.resize(sizes.scratch);
  work.made.resize(sizes.made);
  work.group.reserve(sizes.members);
  work.rows.reserve(sizes.members);
  work.taken.reserve(sizes.members * sizes.rows);
  work.of_sample.reserve(partners_max_ + 1);
  work.masks.reserve(sizes.members);
  work.masks_of_sample.reserve(partners_max_ + 1);
  work.shade.resize(sizes.shade);
  work.canvas.resize(sizes.canvas);
  work.partners.reserve(partners_max_);
  work.is_apart.resize(batch.slice.count);
  return work;
}

void Mixer::run(const batch::Batch& batch, uint8_t* memory) const {
  Work work = work_for(batch);
  for (const auto* marked : {&batch.masked, &batch.absent})
    for (const uint32_t index : *marked) work.is_apart[index] = true;
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
      if (!work.is_apart[i]) work.group.push_back({.index = i});
    first = end;
    if (work.group.size() < 2) continue;
    draw_group(batch, memory, work);
    find_borders(memory, work);
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
    if (at == applied_.end() || (at->partners + 1) * apart_ > work.group.size()) continue;
    member.applied = &*at;
    member.mix = at->operation->draw(draws);
  }
}

void Mixer::find_borders(uint8_t* memory, Work& work) const {
  const auto& group = work.group;
  for (size_t i = 0; i < group.size(); ++i) {
    Member& member = work.group[i];
    if (!member.applied || !member.applied->inside) continue;
    const auto cut = [](int64_t at, uint64_t least, uint64_t side) {
      return std::clamp(static_cast<uint64_t>(std::max<int64_t>(at, 0)), least, side);
    };
    for (size_t back = 0; back <= member.applied->partners; ++back) {
      const uint64_t index = group[(i + group.size() - back * apart_) % group.size()].index;
      int32_t box[4];  // x, y, width, height
      std::memcpy(box, layout_.sample_at(memory, *member.applied->inside, index), sizeof box);
      mixing::Box& inside = member.mix.inside[back];
      inside.left = cut(box[0], 0, member.applied->width);
      inside.top = cut(box[1], 0, member.applied->height);
      inside.right = cut(int64_t{box[0]} + box[2], inside.left, member.applied->width);
      inside.bottom = cut(int64_t{box[1]} + box[3], inside.top, member.applied->height);
    }
  }
}

uint64_t Mixer::row_bytes(size_t tensor, uint32_t count) const {
  return varying_[tensor] ? count * layout_.value_bytes(tensor) : layout_.tensors()[tensor].sample_bytes;
}

void Mixer::find_rows(const batch::Batch& batch, size_t tensor, uint8_t* memory, const Work& work,
                      std::vector<mixing::ListRows>& rows) const {
  rows.clear();
  for (const Member& member : work.group) {
    const uint8_t* const row = layout_.sample_at(memory, tensor, member.index);
    const auto k = varying_[tensor];
    rows.push_back({row, k ? batch.slot->contents.lengths_of(layout_, *k)[member.index] : 0});
  }
}

void Mixer::take_rows(std::span<const mixing::ListRows> rows, size_t i, size_t partners,
                      std::vector<mixing::ListRows>& taken) const {
  taken.clear();
  for (size_t back = 0; back <= partners; ++back)
    taken.push_back(rows[(i + rows.size() - back * apart_) % rows.size()]);
}

void Mixer::take_masks(const batch::Batch& batch, size_t i, uint8_t* memory, Work& work) const {
  work.masks_of_sample.clear();
  const Applied& applied = *work.group[i].applied;
  if (!applied.masks) return;
  find_rows(batch, *applied.masks, memory, work, work.masks);
  take_rows(work.masks, i, applied.partners, work.masks_of_sample);
}

std::span<const mixing::TakenRow> Mixer::taken_by(const Member& member, const Work& work) {
  return std::span(work.taken).subspan(member.first_taken, member.taken);
}

// A list that was cut off (too_long = "cut") may have fewer rows than the boxes that it belongs to.
void Mixer::limit_rows(const batch::Batch& batch, const Applied& applied, Work& work) const {
  for (size_t tensor = 0; tensor < applied.uses.size(); ++tensor) {
    const auto& use = applied.uses[tensor];
    if (!use || use->how == Use::How::kImage || use->how == Use::How::kLabel) continue;
    const auto lengths = batch.slot->contents.lengths_of(layout_, *varying_[tensor]);
    for (size_t i = 0; i < work.group.size(); ++i)
      work.rows[i].count = std::min(work.rows[i].count, lengths[work.group[i].index]);
  }
}

// The rows that each member takes over, before any list is changed.
void Mixer::choose_rows(const batch::Batch& batch, uint8_t* memory, Work& work) const {
  work.taken.clear();
  for (const Applied& applied : applied_) {
    if (!applied.boxes) continue;
    find_rows(batch, *applied.boxes, memory, work, work.rows);
    limit_rows(batch, applied, work);
    for (size_t i = 0; i < work.group.size(); ++i) {
      Member& member = work.group[i];
      if (member.applied != &applied) continue;
      take_rows(work.rows, i, applied.partners, work.of_sample);
      take_masks(batch, i, memory, work);
      member.first_taken = work.taken.size();
      applied.operation->lists()->choose(member.mix, {work.of_sample, work.masks_of_sample}, applied.rows_max,
                                         work.shade, work.taken);
      member.taken = work.taken.size() - member.first_taken;
    }
  }
}

// From the last sample to the first: so each partner is still as it was, but for the last samples, which are kept.
void Mixer::mix_tensor(const batch::Batch& batch, size_t tensor, uint8_t* memory, Work& work) const {
  const auto& group = work.group;
  const auto is_mixed = [&](const Member& member) { return member.applied && member.applied->uses[tensor]; };
  find_rows(batch, tensor, memory, work, work.rows);
  uint8_t* kept = work.scratch.data();
  for (size_t i = group.size() - std::min(partners_max_ * apart_, group.size() - 1); i < group.size(); ++i) {
    const uint64_t bytes = row_bytes(tensor, work.rows[i].count);
    std::memcpy(kept, work.rows[i].memory, bytes);
    work.rows[i].memory = kept;
    kept += bytes;
  }
  for (size_t i = group.size(); i-- > 0;) {
    const Member& member = group[i];
    if (!is_mixed(member)) continue;
    const Applied& applied = *member.applied;
    take_rows(work.rows, i, applied.partners, work.of_sample);
    if (applied.masks == tensor)
      work.masks_of_sample.assign(work.of_sample.begin(), work.of_sample.end());
    else
      take_masks(batch, i, memory, work);
    mixing::Mix mix = member.mix;
    mix.canvas = work.canvas;
    if (applied.masks) {
      const std::span<uint8_t> shade = std::span(work.shade).first(applied.pixels);
      applied.operation->lists()->cast({{}, work.masks_of_sample}, taken_by(member, work), shade);
      mix.shade = shade;
    }
    uint8_t* const own = layout_.sample_at(memory, tensor, member.index);
    const Use::How how = applied.uses[tensor]->how;
    if (how == Use::How::kImage || how == Use::How::kLabel)
      mix_row(tensor, member, mix, own, work);
    else
      make_list(batch, tensor, member, mix, own, work);
  }
}

void Mixer::mix_row(size_t tensor, const Member& member, const mixing::Mix& mix, uint8_t* own, Work& work) const {
  work.partners.clear();
  for (size_t other = 1; other < work.of_sample.size(); ++other) work.partners.push_back(work.of_sample[other].memory);
  const batch::TensorPlace& place = layout_.tensors()[tensor];
  const Use& use = *member.applied->uses[tensor];
  if (use.how == Use::How::kImage)
    member.applied->operation->mix(mix, use.image, own, work.partners);
  else
    mixing::mix_rows(place.dtype, mix.lam, elements_of(place), own, work.partners.front());
}

void Mixer::make_list(const batch::Batch& batch, size_t tensor, const Member& member, const mixing::Mix& mix,
                      uint8_t* own, Work& work) const {
  const mixing::Lists& lists = *member.applied->operation->lists();
  const Use::How how = member.applied->uses[tensor]->how;
  const mixing::ListSources sources{{}, work.masks_of_sample};
  const uint64_t bytes = layout_.value_bytes(tensor);
  uint8_t* out = work.made.data();
  for (const mixing::TakenRow& row : taken_by(member, work)) {
    const uint8_t* const from = work.of_sample[row.from].memory + bytes * row.place;
    if (how == Use::How::kBoxes)
      lists.write_box(mix, row.from, from, sources.mask_of(row, member.applied->pixels), out);
    else if (how == Use::How::kMasks)
      lists.write_mask(mix, row.from, from, out);
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
    if (!member.applied) continue;
    const Member& partner = work.group[(i + work.group.size() - apart_) % work.group.size()];
    if (lam_)
      *reinterpret_cast<float*>(layout_.sample_at(memory, *lam_, member.index)) = static_cast<float>(member.mix.lam);
    if (partner_)
      std::memcpy(layout_.sample_at(memory, *partner_, member.index),
                  layout_.sample_at(memory, sample_id_, partner.index), sizeof(int64_t));
  }
}

}  // namespace spdld::pipeline
