// A fetched field: what the plan wants of it, and its bytes on their way through the pipeline.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/cache/cache.h"
#include "daemon/media/node.h"
#include "daemon/source/fetcher.h"

namespace spdld::pipeline {

// A fetched field as the plan uses it.
struct FieldUse {
  source::FieldId field = 0;
  // The prepared form from which every output of the field can start; null: there is none. Owned by the plan.
  const media::Representation* representation = nullptr;
  std::string_view why_unprepared = {};        // not empty: why some output has no prepared form
  std::vector<std::string_view> indexes = {};  // the ids of its outputs' indexes, each once (media::KeptIndex)
  bool takes_parts = false;                    // every output of the field has one
};

// One field of a sample that is to be decoded.
struct FieldBytes : media::Field {
  // The shelf that is to keep these bytes in their prepared form, or as they are where they have none. Outputs start
  // from that form in any case, so that what a pipeline gives does not depend on the cache's content.
  cache::Shelf* keeps_on = nullptr;
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
