// Compresses texts as tests need them.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace spdld::test {

// One member. `name` stands in its header; empty: none does.
inline std::string gzip(std::string_view text, int level = 1, std::string name = {}) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  gz_header header{};
  header.name = reinterpret_cast<Bytef*>(name.data());
  header.comment = header.name;
  header.hcrc = 1;
  if (!name.empty()) deflateSetHeader(&stream, &header);
  std::string packed(deflateBound(&stream, text.size()) + 64 + 2 * name.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) throw std::runtime_error("not all fits");
  return packed;
}

// One frame with a checksum. `window_log`: 0: as the level has it.
inline std::string zstd(std::string_view text, int level = 1, int window_log = 0) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, window_log == 0 ? 1 : 0);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  // In two steps, so that the window is not made as small as the text.
  if (window_log != 0) ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  const bool is_whole = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0;
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  if (!is_whole) throw std::runtime_error("not all fits");
  return packed;
}

}  // namespace spdld::test
