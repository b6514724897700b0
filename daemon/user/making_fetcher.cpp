#include "daemon/user/making_fetcher.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "config/text/field_path.h"
#include "daemon/base/system/cpu.h"
#include "daemon/store/packing.h"

namespace spdld::user {
namespace {

using source::FieldFetch;

// The place of the request's item; without a maker: its sample is read.
store::Locator place_of(const source::FetchRequest& request) {
  return request.fields.empty() ? store::Locator()
                                : request.listing->locate(request.sample, request.fields.front().field);
}

// Whether the field is to be taken out of a new item: neither is a kept copy enough, nor nothing at all.
bool is_wanted(const FieldFetch& field, const store::Locator& place) {
  switch (field.want) {
    case FieldFetch::Want::kNothing:
      return false;
    case FieldFetch::Want::kBytes:
      return field.kept_fd < 0;
    case FieldFetch::Want::kChanged:
      return field.identity != place.identity;
    case FieldFetch::Want::kParts:
      return true;
  }
  return true;
}

bool reads_once(const config::OutputSpec& output) {
  const config::OperationType* const first =
      output.ops.empty() ? nullptr : config::find_operation(output.ops.front().op);
  return first != nullptr && first->reads_once && !config::parse_field_path(output.from).is_json();
}

}  // namespace

MakingFetcher::MakingFetcher(Crew& crew, const pipeline::Pipeline& pipeline, source::Fetcher& others)
    : crew_(crew), others_(others), pipeline_(pipeline) {
  for (const pipeline::Making& making : pipeline.plan().makings()) made_[making.output] = {&making, {&making}};
  for (const source::Field& field : pipeline.listing().fields())
    lends_.push_back(std::ranges::all_of(pipeline.spec().outputs, [&](const config::OutputSpec& output) {
      return config::parse_field_path(output.from).field() != field.name || reads_once(output);
    }));
}

void MakingFetcher::fetch(source::FetchRequest& request) {
  const store::Locator place = place_of(request);
  for (FieldFetch& field : request.fields) field.is_placed = false;
  if (place.maker == nullptr) return others_.fetch(request);
  if (request.observer != this) customer_ = request.observer;
  request.observer = this;
  const auto wants = [&](const FieldFetch& field) { return is_wanted(field, place); };
  if (std::ranges::any_of(request.fields, wants)) return make(request, place);
  others_.fetch(request);  // reads kept copies
}

bool MakingFetcher::fetch_at_hand(source::FetchRequest& request) {
  return place_of(request).maker == nullptr && others_.fetch_at_hand(request);
}

void MakingFetcher::drop_unwanted() {
  crew_.drop_unwanted();
  others_.drop_unwanted();
}

void MakingFetcher::on_fetched(source::FetchRequest& request) {
  const auto has_failed = [](const FieldFetch& field) { return field.copy_failed; };
  if (request.ok && std::ranges::any_of(request.fields, has_failed)) return make(request, place_of(request));
  tell(request);
}

void MakingFetcher::make(source::FetchRequest& request, const store::Locator& place) {
  request.asked_ns = monotonic_ns();
  request.end_borrowing();
  const Made& made = made_.at(place.maker->source);
  crew_.add({.passage = &static_cast<pipeline::Passage&>(request),
             .errands = &made.errands,
             .customer = this,
             .making = made.making,
             .index = place.offset,
             .may_be_placed = may_be_placed(request, *made.making)});
}

// Some value is the batch's as it is, and nobody keeps any.
bool MakingFetcher::may_be_placed(const source::FetchRequest& request, const pipeline::Making& making) const {
  const auto is_new = [](const FieldFetch& field) { return field.want == FieldFetch::Want::kBytes; };
  return pipeline_.caching().choice().form == config::CacheForm::kOff && std::ranges::all_of(request.fields, is_new) &&
         std::ranges::any_of(making.tensors, [](const auto& tensor) { return tensor.has_value(); });
}

void MakingFetcher::on_done(const Job& job, Status status, ScratchPiece record) {
  pipeline::Passage& passage = *job.passage;
  passage.duration_ns = job.call_ns;
  const uint64_t took_ns = monotonic_ns() - passage.asked_ns;
  passage.waited_ns = took_ns - std::min(took_ns, job.call_ns);
  std::optional<uint64_t> wants_bytes;
  try {
    if (status) status = take_values(passage, std::move(record), job.is_placed ? job.making : nullptr, wants_bytes);
  } catch (const std::bad_alloc&) {
    status = Error{Trouble::kMemory, {}};
  }
  if (wants_bytes) {  // the same item is made once more when there is room
    passage.route.waits_for_room = this;
    return passage.budget->wait(passage, *wants_bytes);
  }
  passage.ok = static_cast<bool>(status);
  passage.error = status ? Error() : std::move(status.error());
  tell(passage);
}

// Values that may be read several times are copied, since the worker may write to its record at any time.
// `wants_bytes`: set where the budget has no room for so many.
Status MakingFetcher::take_values(pipeline::Passage& passage, ScratchPiece record, const pipeline::Making* placed,
                                  std::optional<uint64_t>& wants_bytes) const {
  const auto keeper = std::make_shared<const ScratchPiece>(std::move(record));
  passage.bytes.resize(std::max(passage.bytes.size(), passage.fields.size()));
  passage.borrowed.resize(std::max(passage.borrowed.size(), passage.fields.size()));
  uint64_t copied = 0;
  for (size_t i = 0; i < passage.fields.size(); ++i) {
    FieldFetch& field = passage.fields[i];
    passage.bytes[i].resize(0);
    if (field.want == FieldFetch::Want::kNothing) continue;
    const store::Locator place = passage.listing->locate(passage.sample, field.field);
    if (placed != nullptr && placed->may_place(place.packed)) {
      field.is_placed = true;
      field.content_bytes = passage.layout->tensors()[*placed->tensors[place.packed]].sample_bytes;
      field.identity = place.identity;
      continue;
    }
    const auto piece = place.packing->find(keeper->bytes(), place.packed);
    if (!piece) return Error{Trouble::kContent, passage.listing->name(passage.sample) + " " + piece.error().message};
    field.parts = {{0, piece->bytes.size()}};
    field.is_whole = field.want == FieldFetch::Want::kParts;
    field.content_bytes = piece->bytes.size();
    field.identity = place.identity;
    field.unchanged = field.copy_failed = false;
    passage.borrowed[i] = {piece->bytes, keeper};
    if (!lends_[field.field]) copied += ByteBuffer::room_for(piece->bytes.size());
  }
  if (copied > 0 && passage.budget != nullptr && !passage.budget->hold(passage, copied)) {
    passage.end_borrowing();
    wants_bytes = copied;
    return Done{};
  }
  for (size_t i = 0; i < passage.fields.size(); ++i)
    if (!lends_[passage.fields[i].field]) keep_copy(passage, i);
  return Done{};
}

// Puts the field's own bytes in the place of borrowed ones.
void MakingFetcher::keep_copy(pipeline::Passage& passage, size_t i) {
  const std::span<const uint8_t> bytes = passage.borrowed[i].bytes;
  passage.bytes[i].resize(bytes.size());
  if (!bytes.empty()) std::memcpy(passage.bytes[i].data(), bytes.data(), bytes.size());
  passage.borrowed[i] = {};
}

}  // namespace spdld::user
