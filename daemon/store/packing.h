// Bytes that do not lie in their object as they are: a value of a table's row, a text in base64, a feature of a record
// with a checksum. A Locator then means the bytes that hold them, and a Packing takes them out.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "daemon/base/result.h"

namespace spdld::store {

// Owned by the listing that gave the locator, and alive as long as the listing. Constant; any thread. The bytes are not
// trusted.
class Packing {
 public:
  virtual ~Packing() = default;

  // A value where it was found.
  struct Piece {
    std::span<const uint8_t> bytes;  // as they lie in the holder
    uint64_t bytes_max = 0;          // of the value that unpack() makes of them, at the most
    uint32_t form = 0;               // the packing's own note
  };

  // Finds value number `packed` (Locator::packed) in the bytes of its holder. kContent: they are damaged, or they lack
  // the value; the message is the end of a sentence that begins with the holder's place.
  virtual Result<Piece> find(std::span<const uint8_t> holder, uint32_t packed) const = 0;

  // Writes the value to `to`, which has room for piece.bytes_max, and returns how many bytes it has. Errors are
  // find()'s.
  virtual Result<uint64_t> unpack(const Piece& piece, uint8_t* to) const {
    if (!piece.bytes.empty()) std::memcpy(to, piece.bytes.data(), piece.bytes.size());
    return uint64_t{piece.bytes.size()};
  }
};

}  // namespace spdld::store
