// Unpacks a compressed stream piece by piece, as the pieces come. Nothing in the stream is trusted. One thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "daemon/base/result.h"
#include "daemon/store/unpack/compression.h"

namespace spdld::store::unpack {

class Unpacker {
 public:
  virtual ~Unpacker() = default;

  struct Step {
    uint64_t taken = 0, given = 0;  // bytes
  };
  // Takes bytes from `from` and writes bytes to `to`. It does neither where it needs more of both, or is at its end.
  // kContent: the bytes are damaged, or of a kind that is not unpacked; the message is a clause ("a checksum is
  // wrong").
  virtual Result<Step> step(std::span<const uint8_t> from, std::span<uint8_t> to) = 0;
  // Whether the bytes that were taken so far are a whole stream. Another stream may follow.
  virtual bool is_whole() const = 0;
  // The memory that it takes, which depends on the stream.
  virtual uint64_t memory_bytes() const = 0;
};

// Several members follow one another as one stream, and zeros behind the last one are padding.
std::unique_ptr<Unpacker> make_gzip();
// Several frames follow one another as one stream. A frame may look back at most 2^kWindowLogMax bytes.
inline constexpr int kWindowLogMax = 27;
std::unique_ptr<Unpacker> make_zstd();

// Precondition: is_unpacked(compression). Throws std::bad_alloc.
std::unique_ptr<Unpacker> make_unpacker(Compression compression);

}  // namespace spdld::store::unpack
