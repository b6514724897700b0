// Random access to the bytes of a file or of a remote object, for threads that may block: threads that list, and
// threads that decode.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace spdld::store {

// One thread at a time.
class View {
 public:
  virtual ~View() = default;
  // In bytes, as it was when the view was made. kSizeUnknown: the end is found by reading up to it.
  static constexpr uint64_t kSizeUnknown = UINT64_MAX;
  virtual uint64_t size() const = 0;
  // Reads bytes from `offset` on: as many as fit into `to`, and fewer where the object ends before. Errors are
  // sentences that name the object.
  virtual Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) = 0;
  // After the last read: why the bytes can't be what they should be, or end too early, as a clause; empty: they are
  // sound as far as this can be known. May read what is left.
  virtual Result<std::string> find_damage() { return std::string(); }
};

}  // namespace spdld::store
