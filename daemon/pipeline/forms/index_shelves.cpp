#include "daemon/pipeline/forms/index_shelves.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/pipeline/forms/shelf_keeper.h"

namespace spdld::pipeline {
namespace {

using Want = source::FieldFetch::Want;
using Where = cache::Found::Where;

constexpr unsigned kPartedRoundsMax = 8;  // then contents are read whole

// An index from the cache's disk, which is some kilobytes. Empty: it can't be read.
std::string read_from_disk(const cache::Found& found) {
  std::string bytes(found.bytes, '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::pread(found.fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(found.offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    got += static_cast<size_t>(n);
  }
  return bytes;
}

bool knows_all(const FieldBytes& field) {
  return std::none_of(field.index_places.begin(), field.index_places.end(),
                      [](const FieldBytes::IndexPlace& place) { return place.found.where == Where::kNowhere; });
}

void forget(uint64_t record, media::KeptIndex& index, FieldBytes::IndexPlace& place, bool is_damaged) {
  if (place.found.where != Where::kNowhere) place.shelf->drop(record, is_damaged);
  place = {.shelf = place.shelf};
  index.bytes = {};
  index.made.clear();
}

void forget_all(uint64_t record, FieldBytes& field) {
  for (size_t k = 0; k < field.index_places.size(); ++k) forget(record, field.indexes[k], field.index_places[k], false);
}

}  // namespace

void IndexShelves::open(cache::Cache* cache, const std::string& uris, const source::Listing& listing,
                        std::span<const FieldUse> uses) {
  fields_.assign(uses.size(), {});
  for (size_t i = 0; i < uses.size(); ++i) {
    if (listing.cuts(uses[i].field)) continue;
    fields_[i].ids = uses[i].indexes;
    fields_[i].takes_parts = uses[i].takes_parts;
    for (const std::string_view id : uses[i].indexes) {
      const std::string& name = listing.fields()[uses[i].field].name;
      fields_[i].shelves.push_back(
          cache ? cache->open({uris, listing.fingerprint(), name, std::string(id)}, listing.record_count()) : nullptr);
    }
  }
}

void IndexShelves::close() {
  for (OfField& field : fields_) field.shelves.assign(field.shelves.size(), nullptr);
}

void IndexShelves::report(std::vector<cache::ShelfReport>& reports) const {
  for (const OfField& field : fields_)
    for (const auto& shelf : field.shelves)
      if (shelf) reports.push_back(shelf->report());
}

void IndexShelves::find(size_t index, uint64_t record, FieldBytes& field) const {
  if (index >= fields_.size()) return;
  for (size_t k = 0; k < fields_[index].ids.size(); ++k) {
    cache::Shelf* const shelf = fields_[index].shelves[k].get();
    FieldBytes::IndexPlace& place = field.index_places.emplace_back();
    place.shelf = shelf;
    if (shelf) place.found = shelf->find(record);
    media::KeptIndex& kept = field.indexes.emplace_back();
    kept.id = fields_[index].ids[k];
    kept.is_kept = shelf != nullptr;
    if (place.found.where == Where::kMemory) kept.bytes = {place.found.memory, place.found.bytes};
  }
}

void IndexShelves::ask_first(source::FieldFetch& fetch, const FieldBytes& field) {
  if (knows_all(field)) {
    fetch.want = Want::kNothing;
    return;
  }
  fetch.want = Want::kParts;
  fetch.parts = {{0, kHeadBytes}};
  fetch.whole_max = kWholeMax;
}

bool IndexShelves::settle(source::FetchRequest& request, size_t index, uint64_t record, FieldBytes& field) {
  source::FieldFetch& fetch = request.fields[index];
  if (fetch.want == Want::kNothing) {  // the first of the rounds
    field.parts.emplace(0, std::span<const ByteRange>(), std::span<const uint8_t>());
    for (const FieldBytes::IndexPlace& place : field.index_places) field.identity = place.found.identity;
    check(record, field);
    if (std::all_of(field.indexes.begin(), field.indexes.end(), [](const auto& one) { return !one.bytes.empty(); }))
      return true;
    fetch = {.field = fetch.field};  // an index on the disk was damaged
    ask_first(fetch, field);
    return false;
  }
  if (fetch.is_other) {
    forget_all(record, field);
    fetch = {.field = fetch.field};
    ask_first(fetch, field);
    return false;
  }
  field.identity = fetch.identity;
  if (fetch.is_whole)
    field.bytes = request.bytes_of(index);
  else
    field.parts.emplace(fetch.content_bytes, fetch.parts, request.bytes_of(index));
  check(record, field);
  return true;
}

void IndexShelves::check(uint64_t record, FieldBytes& field) {
  for (size_t k = 0; k < field.index_places.size(); ++k) {
    FieldBytes::IndexPlace& place = field.index_places[k];
    media::KeptIndex& index = field.indexes[k];
    if (place.found.where == Where::kNowhere) continue;  // made of this content, or not known
    if (place.found.identity != field.identity) {
      forget(record, index, place, false);
    } else if (place.found.where == Where::kDisk && index.bytes.empty()) {
      index.set(read_from_disk(place.found));
      if (!place.shelf->is_sound(record, index.bytes))
        forget(record, index, place, true);
      else
        ShelfKeeper(*place.shelf, record, field.identity).keep_in_memory(index.bytes, cache::Form::kPrepared);
    }
  }
}

Status IndexShelves::ask_further(source::FetchRequest& request, std::span<FieldBytes> fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    FieldBytes& field = fields[i];
    if (field.wanted.empty()) continue;
    if (!field.parts || ++field.rounds > kRoundsMax)
      return Error{Trouble::kInternal, "a node wants parts of a content again and again that it has been given"};
    source::FieldFetch& fetch = request.fields[i];
    fetch.want = Want::kParts;
    fetch.whole_max = 0;
    fetch.parts = field.wanted;
    if (field.rounds > kPartedRoundsMax) fetch.parts = {{0, UINT64_MAX}};
    fetch.is_of_identity = !(field.identity == store::Identity());
    fetch.identity = field.identity;
  }
  return Done{};
}

void IndexShelves::keep(uint64_t record, FieldBytes& field) {
  for (size_t k = 0; k < field.index_places.size(); ++k) {
    FieldBytes::IndexPlace& place = field.index_places[k];
    const bool is_new = place.found.where == Where::kNowhere && !field.indexes[k].made.empty();
    if (!is_new || std::exchange(place.is_settled, true) || !place.shelf || field.identity == store::Identity())
      continue;
    ShelfKeeper keeper(*place.shelf, record, field.identity);
    keeper.keep_in_memory(field.indexes[k].bytes, cache::Form::kPrepared);
    place.shelf->put_on_disk(record, field.identity, field.indexes[k].bytes.data(), field.indexes[k].bytes.size(),
                             cache::Form::kPrepared);
  }
}

}  // namespace spdld::pipeline
