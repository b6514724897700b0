// A fetched field: what the plan wants of it, and its bytes on their way through the pipeline.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/media/node.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

// The prepared forms that the cache may keep, beginning with the form that saves most CPU time.
inline constexpr std::array kPreparedForms = {config::CacheForm::kDecoded, config::CacheForm::kPacked,
                                              config::CacheForm::kIndexed};
inline bool is_prepared_form(config::CacheForm form) {
  return std::find(kPreparedForms.begin(), kPreparedForms.end(), form) != kPreparedForms.end();
}

// A fetched field as the plan uses it.
struct FieldUse {
  source::FieldId field = 0;
  // Of kPreparedForms those from which every output of the field can start; null: it has no such form. Owned by the
  // plan.
  std::array<const media::Representation*, kPreparedForms.size()> representations = {};
  // Null also where `form` is none of them.
  const media::Representation* representation(config::CacheForm form) const {
    for (size_t i = 0; i < kPreparedForms.size(); ++i)
      if (kPreparedForms[i] == form) return representations[i];
    return nullptr;
  }
  std::string_view why_unprepared = {};        // not empty: why some output has no prepared form
  std::vector<std::string_view> indexes = {};  // the ids of its outputs' indexes, each once (media::KeptIndex)
  bool takes_parts = false;                    // every output of the field has one
};

// One field of a sample that is to be decoded.
struct FieldBytes : media::Field {
  // The shelf that is to keep these bytes in their prepared form, or as they are where they have none. Outputs start
  // from that form in any case, so that what a pipeline gives does not depend on the cache's content.
  cache::Shelf* keeps_on = nullptr;
  size_t rung = 0;                // of FormShelves: in which form the field is found, or is to be kept
  bool is_placed = false;         // it lies in the batch already, and there are no bytes of it here
  bool is_upgrade = false;        // it is kept already, and is made anew in a better form
  store::Identity identity = {};  // of the content
  // The places of `indexes` in the cache.
  struct IndexPlace {
    cache::Shelf* shelf = nullptr;  // null: it is not kept
    cache::Found found = {};
    bool is_settled = false;  // nothing is to be read from the shelf, or put on it
  };
  std::vector<IndexPlace> index_places = {};
};

}  // namespace spdld::pipeline
