// Random access to the bytes of a file or of a remote object, for threads that may block: threads that list, and
// threads that decode.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/base/result.h"

namespace spdld::store {

// One thread at a time.
class View {
 public:
  virtual ~View() = default;
  virtual uint64_t size() const = 0;  // in bytes, as it was when the view was made
  // Reads bytes from `offset` on: as many as fit into `to`, and fewer where the object ends before. Errors are
  // sentences that name the object.
  virtual Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) = 0;
};

}  // namespace spdld::store
