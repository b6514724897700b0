// The bytes that a compressed object holds, from its beginning on.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/store/unpack/unpacker.h"
#include "daemon/store/view.h"

namespace spdld::store::unpack {

// The most bytes that an object may hold, by its compressed bytes. gzip comes to 1,032 times where all bytes are the
// same, and zstd to far more.
inline constexpr uint64_t kUnpackedTimesMax = 1024;
constexpr uint64_t unpacked_bytes_max(uint64_t packed_bytes) {
  return packed_bytes > UINT64_MAX / (2 * kUnpackedTimesMax) ? UINT64_MAX / 2
                                                             : packed_bytes * kUnpackedTimesMax + (64 << 20);
}

// One thread. Borrows the view.
class UnpackedReader {
 public:
  static constexpr uint64_t kInputBytes = 256 << 10;  // of compressed bytes that it holds

  // Throws std::bad_alloc.
  UnpackedReader(View& packed, Compression compression);

  // The next bytes: as many as fit, and fewer where they end, or where damage() says why they can't be unpacked any
  // further. Errors are the view's; afterwards the reader can't go on.
  Result<uint64_t> read(std::span<uint8_t> to);
  // A clause: "its gzip data is damaged (a checksum is wrong) at byte 7 of 12 compressed ones"; empty: there is none.
  const std::string& damage() const { return damage_; }
  bool is_at_end() const { return has_ended_; }
  uint64_t position() const { return position_; }  // of the next byte
  uint64_t packed_position() const { return packed_at_ - (input_end_ - input_at_); }
  // The most memory that it took so far, without the view.
  uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  Status refill();
  void end(const std::string& damage);

  View& packed_;
  const Compression compression_;
  const std::unique_ptr<Unpacker> unpacker_;
  const uint64_t position_max_;
  ByteBuffer input_;
  uint64_t input_at_ = 0, input_end_ = 0;  // in `input_`
  uint64_t packed_at_ = 0;                 // in the object, behind the input
  bool has_input_ended_ = false, has_ended_ = false;
  uint64_t position_ = 0, memory_bytes_ = 0;
  std::string damage_;
};

}  // namespace spdld::store::unpack
