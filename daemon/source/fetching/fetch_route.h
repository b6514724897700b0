// The part of a request that belongs to the fetchers, who hand the request from one to another. It stays from one use
// of the request to the next. Callers neither set nor read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/base/byte_buffer.h"

namespace spdld::source {

class Fetcher;

// The state that a fetcher of remote stores keeps.
class FetchState {
 public:
  virtual ~FetchState() = default;
};

class FetchRoute {
 public:
  // The work on a field that is left for a fetcher of local files.
  enum class Way : uint8_t {
    kAll,        // as FieldFetch::want says
    kCopyAlone,  // the kept copy: `copy_failed` is set where it can't be read
    kPassOver,   // nothing: somebody else reads it
    kUnpack      // it is taken out of a holder: of bytes that somebody else has read
  };

  // Begins anew with `fields` fields, which all go the way kAll. The only function here that takes memory.
  void begin(size_t fields) {
    fields_.assign(fields, {});
    others_ = Way::kAll;
  }
  // All fields go this way, also where the route was never begun. Their holders stay.
  void set_all(Way way) {
    for (FieldRoute& field : fields_) field.way = way;
    others_ = way;
  }
  // Precondition of the setters and of holder_of(): the route was begun with this field.
  void set_way(size_t field, Way way) { fields_[field].way = way; }
  void set_holder(size_t field, size_t holder) { fields_[field].holder = holder; }
  Way way_of(size_t field) const { return field < fields_.size() ? fields_[field].way : others_; }
  size_t holder_of(size_t field) const { return fields_[field].holder; }
  bool is_unpacking() const {
    return std::any_of(fields_.begin(), fields_.end(), [](const FieldRoute& one) { return one.way == Way::kUnpack; });
  }
  // Keeps at most `kept_bytes` of each holder's memory for the next use.
  void shrink_holders(size_t kept_bytes) {
    for (ByteBuffer& holder : holders) holder.shrink(kept_bytes);
  }

  std::unique_ptr<FetchState> state;  // none: no fetcher of remote stores has had the request
  std::vector<ByteBuffer> holders;    // bytes from remote stores that fields are to be taken out of
  Fetcher* first = nullptr;           // the fetcher that the request begins with; null: the fetcher that has it
  Fetcher* waits_for_room = nullptr;  // which fetches it once the budget has room

 private:
  struct FieldRoute {
    Way way = Way::kAll;
    size_t holder = 0;
  };
  std::vector<FieldRoute> fields_;  // by the request's fields
  Way others_ = Way::kAll;          // of fields that are not there
};

}  // namespace spdld::source
