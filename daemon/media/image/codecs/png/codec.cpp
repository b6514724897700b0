#include "daemon/media/image/codecs/png/codec.h"

#include <cstring>
#include <string>

#include "daemon/media/image/codecs/image_decoder.h"

namespace spdld::image {
namespace {

// libspng's functions of memory get no pointer of ours: the memory of the codec that calls libspng on this thread.
struct Lent {
  Arena& arena;
  bool& ran_out;
};
thread_local Lent* lent = nullptr;

class Lending {
 public:
  Lending(Arena& arena, bool& ran_out) : lent_{arena, ran_out} { lent = &lent_; }
  ~Lending() { lent = nullptr; }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

 private:
  Lent lent_;
};

void* take_lent(size_t bytes) {
  void* memory = lent->arena.take(bytes);
  lent->ran_out |= memory == nullptr;
  return memory;
}

void* take_zeroed(size_t count, size_t bytes) {
  if (bytes != 0 && count > SIZE_MAX / bytes) return nullptr;
  void* memory = take_lent(count * bytes);
  if (memory != nullptr) std::memset(memory, 0, count * bytes);
  return memory;
}

// Lists of ancillary chunks would grow; libspng never sees such chunks here.
void* refuse_growth(void*, size_t) { return nullptr; }

void keep(void*) {}  // until the arena's reset

int read_source(spng_ctx*, void* source, void* to, size_t count) {
  return static_cast<CriticalBytes*>(source)->read(static_cast<uint8_t*>(to), count) ? 0 : SPNG_IO_EOF;
}

// The chunks' checksums cover the coded bytes. libspng stops before the checksum of the pixels, so that zlib would sum
// them up for nothing.
constexpr int kFlags = SPNG_CTX_IGNORE_ADLER32;

}  // namespace

Error PngCodec::error_of_memory() const {
  if (arena_.ran_short()) return {Trouble::kMemory, "there is not enough memory to decode a PNG"};
  return {Trouble::kContent, std::string("a PNG that costs too much: ") + kTooMuchMemory};
}

Error PngCodec::error_of(int code) const {
  if (ran_out_) return error_of_memory();  // zlib's want of memory comes as damage
  return {Trouble::kContent, std::string("a damaged PNG: ") + spng_strerror(code)};
}

// A small picture is inflated whole, behind its coded data. libspng has a row, the one before, and zlib's window.
uint64_t PngCodec::bytes_of(size_t coded_bytes, const PngHeader& header, const PngReading& reading) {
  constexpr uint64_t kLibrary = 256 << 10;
  const uint64_t rows = 2 * reading.row_bytes(header.width) + 4 * header.row_bytes(header.width);
  const uint64_t inflated = header.inflated_bytes();
  return kLibrary + rows + (inflated <= WholeRows::kInflatedMax ? inflated + coded_bytes : 0);
}

Status PngCodec::start(std::span<const uint8_t> png, const PngHeader& header, const PngReading& reading,
                       uint64_t pixel_bytes) {
  stop();
  arena_.limit(pixel_bytes < bytes_max() ? bytes_max() - pixel_bytes : 0);
  cpu_watch_.restart();
  row_bytes_ = reading.row_bytes(header.width);
  row_blocks_ = header.width / 64 + 1;
  (void)cpu_watch_.is_over(row_blocks_);  // the time counts from here
  if (whole_.start(png, header, reading, row_bytes_, arena_)) return Done{};
  arena_.reset();
  return start_libspng(png, reading);
}

Status PngCodec::start_libspng(std::span<const uint8_t> png, const PngReading& reading) {
  source_.emplace(png, reading.has_transparency);
  const Lending lending(arena_, ran_out_);
  spng_alloc functions{take_lent, refuse_growth, take_zeroed, keep};
  context_.reset(spng_ctx_new2(&functions, kFlags));
  if (!context_) return error_of_memory();
  // A tRNS chunk decides pixels; libspng would leave it out where its checksum is wrong.
  (void)spng_set_crc_action(context_.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR);
  int code = spng_set_png_stream(context_.get(), read_source, &*source_);
  const int flags = SPNG_DECODE_PROGRESSIVE | (reading.has_transparency ? SPNG_DECODE_TRNS : 0);
  if (code == 0) code = spng_decode_image(context_.get(), nullptr, 0, reading.format, flags);
  if (code != 0) return error_of(code);
  return Done{};
}

std::optional<uint32_t> PngCodec::next_row() const {
  if (whole_.has_row()) return whole_.next_row();
  if (!context_) return std::nullopt;
  spng_row_info row{};
  if (spng_get_row_info(context_.get(), &row) != 0) return std::nullopt;
  return row.row_num;
}

Status PngCodec::read_row(uint8_t* row) {
  if (cpu_watch_.is_over(row_blocks_)) {
    return Error{Trouble::kContent, std::string("a PNG that costs too much: ") + kTooMuchCpuTime};
  }
  if (whole_.has_row()) {
    whole_.read_row(row);
    return Done{};
  }
  const Lending lending(arena_, ran_out_);
  const int code = spng_decode_row(context_.get(), row, row_bytes_);
  if (code != 0 && code != SPNG_EOI) return error_of(code);
  return Done{};
}

Status PngCodec::finish() {
  if (!context_) return Done{};
  const Lending lending(arena_, ran_out_);
  const int code = spng_decode_chunks(context_.get());
  if (code != 0) return error_of(code);
  return Done{};
}

void PngCodec::stop() {
  whole_.stop();
  context_.reset();
  source_.reset();
  arena_.reset();
  ran_out_ = false;
}

std::string png_code() { return std::string("libspng ") + spng_version_string(); }

}  // namespace spdld::image
