// Unpacks arbitrary bytes as gzip or zstd, in pieces whose sizes the first bytes say. What comes out must not depend on
// the pieces, and must be what the library of another maker gives, where that library takes the bytes at all.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/store/unpack/unpacked_reader.h"

namespace {

using namespace spdld;

constexpr size_t kOutMax = 1 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Unpacked {
  std::string text;
  bool is_damaged = false, is_whole = false;
};

Unpacked run(store::unpack::Compression compression, const std::vector<uint8_t>& bytes, size_t in, size_t out) {
  Unpacked all;
  const auto unpacker = store::unpack::make_unpacker(compression);
  size_t at = 0;
  while (all.text.size() < kOutMax) {
    const std::vector<uint8_t> from(bytes.begin() + static_cast<ptrdiff_t>(at),
                                    bytes.begin() + static_cast<ptrdiff_t>(std::min(at + in, bytes.size())));
    std::vector<uint8_t> to(out);
    const auto step = unpacker->step(from, to);
    if (!step) {
      require(!step.error().message.empty());
      all.is_damaged = true;
      return all;
    }
    require(step->taken <= from.size() && step->given <= to.size());
    all.text.append(reinterpret_cast<const char*>(to.data()), step->given);
    at += step->taken;
    if (step->taken > 0 || step->given > 0) continue;
    require(at == bytes.size());
    all.is_whole = unpacker->is_whole();
    return all;
  }
  return all;
}

struct Inflated {
  std::string text;
  bool is_whole = false;
  // zlib refuses a block whose Huffman code leaves bit patterns unused. igzip takes it as long as the data has none of
  // these patterns, and the member's checksum then says whether the data is right.
  bool is_refused_for_its_code = false;
};

bool is_about_a_code(const char* message) {
  return message != nullptr && (std::strcmp(message, "invalid code lengths set") == 0 ||
                                std::strcmp(message, "invalid literal/lengths set") == 0 ||
                                std::strcmp(message, "invalid distances set") == 0);
}

// The first member alone, by zlib.
Inflated by_zlib(const std::vector<uint8_t>& bytes) {
  z_stream stream{};
  require(inflateInit2(&stream, 15 + 16) == Z_OK);
  Inflated first;
  first.text.assign(kOutMax, '\0');
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(first.text.data());
  stream.avail_out = static_cast<uInt>(first.text.size());
  first.is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  first.is_refused_for_its_code = is_about_a_code(stream.msg);
  first.text.resize(stream.total_out);
  inflateEnd(&stream);
  return first;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 3) return 0;
  const auto compression = bytes[0] % 2 == 0 ? store::unpack::Compression::kGzip : store::unpack::Compression::kZstd;
  const std::vector<uint8_t> packed(bytes + 3, bytes + size);
  const Unpacked whole = run(compression, packed, SIZE_MAX / 2, 64 << 10);
  const Unpacked pieces = run(compression, packed, bytes[1] + size_t{1}, bytes[2] * size_t{64} + 512);
  require(whole.is_damaged == pieces.is_damaged || whole.text.size() + pieces.text.size() > kOutMax);
  require(whole.is_whole == pieces.is_whole || whole.text.size() + pieces.text.size() > kOutMax);
  const size_t both = std::min(whole.text.size(), pieces.text.size());
  require(whole.text.compare(0, both, pieces.text, 0, both) == 0);
  if (compression != store::unpack::Compression::kGzip || !whole.is_whole) return 0;
  const Inflated other = by_zlib(packed);
  require(other.is_whole || other.is_refused_for_its_code || other.text.size() == kOutMax);
  require(whole.text.starts_with(other.text));
  return 0;
}
