// libspng's decoder as an object: it gives a picture's rows, in a format that libspng knows, one after another. Common
// pictures take a shorter way (whole_rows.h) to the same rows. All memory of libspng and zlib comes from an arena that
// is kept from picture to picture. One thread.
#pragma once

#include <spng.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/arena.h"
#include "daemon/media/image/codecs/picture_limits.h"
#include "daemon/media/image/codecs/png/chunks.h"
#include "daemon/media/image/codecs/png/reading.h"
#include "daemon/media/image/codecs/png/whole_rows.h"

namespace spdld::image {

class PngCodec {
 public:
  explicit PngCodec(const media::DecodeLimits& limits) : limits_(limits), cpu_watch_(limits) {}

  // Begins a picture whose outline is known, to be read as `reading` says; `png` must stay valid until the next start()
  // or stop(). `pixel_bytes` are taken from the limit of memory: the caller uses them for this picture. Errors, here
  // and below: kContent for damage and for what goes beyond a limit, kMemory where the machine has none.
  Status start(std::span<const uint8_t> png, const PngHeader& header, const PngReading& reading, uint64_t pixel_bytes);
  // The picture's row that read_row() gives next; none: all were read. An interlaced picture's row comes several times,
  // with some of its pixels each time.
  std::optional<uint32_t> next_row() const;
  // Writes the pixels that came of that row to `row`, which is a whole row of the reading. Packed values are added to
  // what is there, which must be zeroes at first.
  Status read_row(uint8_t* row);
  // Looks for damage in what follows the last row. Precondition: all rows were read.
  Status finish();
  // Forgets the picture. Its memory is kept.
  void stop();

  // A row for pixels that nobody needs; null where there is no memory for it. Valid until stop().
  uint8_t* take_spare_row() { return static_cast<uint8_t*>(arena_.take(row_bytes_)); }
  // The memory that a picture may take of the codec, beside the rows that the caller has.
  static uint64_t bytes_of(size_t coded_bytes, const PngHeader& header, const PngReading& reading);
  // Of an attempt to get memory that failed.
  Error error_of_memory() const;

 private:
  struct Free {
    void operator()(spng_ctx* context) const { spng_ctx_free(context); }
  };

  Status start_libspng(std::span<const uint8_t> png, const PngReading& reading);
  Error error_of(int code) const;
  size_t bytes_max() const { return limits_.bytes_max == 0 ? SIZE_MAX : limits_.bytes_max; }

  const media::DecodeLimits limits_;
  CpuWatch cpu_watch_;
  Arena arena_{bytes_max(), kMemoryKeptMax};
  bool ran_out_ = false;  // libspng or zlib was refused memory
  WholeRows whole_;
  std::unique_ptr<spng_ctx, Free> context_;  // null: whole_ has the picture
  std::optional<CriticalBytes> source_;
  size_t row_bytes_ = 0;     // of the reading
  uint64_t row_blocks_ = 0;  // of 64 samples
};

}  // namespace spdld::image
