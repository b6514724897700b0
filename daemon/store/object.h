// The identity of an object's content: of a file, or of an object in a remote store.
#pragma once

#include <cstdint>

namespace spdld::store {

// The identity of an object's content when it was read or listed. An object of the same identity is assumed to have the
// same content.
struct Identity {
  uint64_t size = 0;    // of the whole object, in bytes
  int64_t changed = 0;  // a file's: a hash of its times of modification and of status change; an object's: of its ETag
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace spdld::store
