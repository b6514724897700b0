#include "daemon/pipeline/stream_task.h"

#include <algorithm>

namespace spdld::pipeline {
namespace {

// Samples that take no longer than this together are cheap enough for twice as many to be taken next time.
constexpr uint64_t kShortNs = 20'000;

}  // namespace

bool Cursor::take_of(OpenBatch& open, unsigned threads) {
  const SampleRange range = open.take_first(most_, threads);
  if (range.count == 0) return false;
  open_ = &open;
  taken_ = range;
  return true;
}

bool Cursor::take_more(unsigned threads) {
  const SampleRange range = open_->take(most_, threads);
  if (range.count == 0) return false;
  taken_ = range;
  return true;
}

void Cursor::begin(Steps& steps, uint64_t now_ns) {
  at_ = 0;
  start_ns_ = now_ns;
  steps.read(open_->step, taken_.first, {samples_.data(), taken_.count});
}

void Cursor::give_back_rest() {
  open_->give_back({index() + 1, rest()});
  taken_.count = at_ + 1;
}

void Cursor::leave() {
  open_->finish(std::exchange(finished_, 0) + taken_.count - at_);
  for (size_t i = 0; i < of_source_.size(); i++) open_->batch.of_source[i] += std::exchange(of_source_[i], 0);
}

void Cursor::pace(uint64_t now_ns) {
  if (start_ns_ == 0) return;
  const uint64_t took_ns = now_ns - start_ns_;
  if (took_ns <= kShortNs)
    most_ = std::min(2 * most_, kTakenMax);
  else if (took_ns > 2 * kShortNs)
    most_ = std::max<uint64_t>(most_ / 2, 1);
}

Stream::Task::Task(Stream& its_stream) : stream(its_stream), cursor(stream.pipeline_->mix().sources().size()) {
  const Pipeline& pipeline = *stream.pipeline_;
  walker = &stream;
  layout = &stream.layout_;
  listing = &pipeline.listing();
  owner = pipeline.resources().fetch_owner;
  budget = pipeline.resources().budget.get();
  room.budget = pipeline.resources().memory.get();
  is_unwanted = &stream.is_over_;
  for (const Errand& errand : pipeline.plan().errands()) {
    media::ScratchMemory& scratch = pipeline.scratch_of(errand);
    carried.emplace_back(scratch, errand.takes);
    carried.emplace_back(scratch, errand.gives);
  }
  for (const FieldUse& use : pipeline.plan().fetched()) fields.push_back({.field = use.field});
}

void Stream::Task::begin_sample(SpareTime* spare_time) {
  const OpenBatch& open = cursor.batch();
  sample = cursor.sample().id;
  pass = cursor.sample().pass;
  index = cursor.index();
  batch_number = open.batch.number;
  slot = open.memory;
  slot_memory = open.slot_memory;
  contents = &open.batch.slot->contents;
  spare = spare_time;
  progress.begin_sample();
  waiting.begin_sample();
  cursor.count_source();
}

}  // namespace spdld::pipeline
