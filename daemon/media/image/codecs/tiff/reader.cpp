#include "daemon/media/image/codecs/tiff/reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace spdld::image {
namespace {

struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

// Not zero: libtiff is to write nothing itself.
int keep_silent(TIFF*, void*, const char*, const char*, va_list) { return 1; }

tmsize_t refuse_to_write(thandle_t, void*, tmsize_t) { return 0; }
int close_nothing(thandle_t) { return 0; }
void unmap_nothing(thandle_t, void*, toff_t) {}

}  // namespace

int TiffReader::note_error(TIFF*, void* source, const char*, const char*, va_list) {
  static_cast<Source*>(source)->has_complained = true;
  return 1;
}

tmsize_t TiffReader::read(thandle_t source, void* to, tmsize_t count) {
  auto& from = *static_cast<Source*>(source);
  if (count <= 0 || from.at >= from.bytes.size()) return 0;
  const size_t part = std::min(static_cast<size_t>(count), from.bytes.size() - static_cast<size_t>(from.at));
  std::memcpy(to, from.bytes.data() + from.at, part);
  from.at += part;
  return static_cast<tmsize_t>(part);
}

toff_t TiffReader::seek(thandle_t source, toff_t offset, int from) {
  auto& at = static_cast<Source*>(source)->at;
  if (from == SEEK_SET) at = offset;
  if (from == SEEK_CUR) at += offset;  // both wrap around as numbers without a sign do
  if (from == SEEK_END) at = static_cast<Source*>(source)->bytes.size() + offset;
  return at;
}

toff_t TiffReader::size(thandle_t source) { return static_cast<Source*>(source)->bytes.size(); }

// libtiff reads of the mapped bytes alone, since the file is open for reading.
int TiffReader::map(thandle_t source, void** bytes, toff_t* size) {
  const auto& from = *static_cast<Source*>(source);
  *bytes = const_cast<uint8_t*>(from.bytes.data());
  *size = from.bytes.size();
  return 1;
}

TiffReader::TiffReader(std::span<const uint8_t> bytes, int64_t piece_bytes_max, int page) : source_{bytes} {
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (!options) return;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), piece_bytes_max);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), note_error, &source_);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), keep_silent, nullptr);
  tiff_.reset(TIFFClientOpenExt("", "r", &source_, read, refuse_to_write, seek, close_nothing, size, map, unmap_nothing,
                                options.get()));
  if (!tiff_ || page == 0) return;
  count_pages();
  turn_to(page);
}

void TiffReader::count_pages() { pages_ = TIFFNumberOfDirectories(tiff_.get()); }

bool TiffReader::turn_to(int page) {
  if (page == page_) return is_open();
  const bool is_next = page == page_ + 1;
  const auto wanted = static_cast<uint32_t>(page);
  const bool is_there =
      wanted < pages_ && (is_next ? TIFFReadDirectory(tiff_.get()) == 1 : TIFFSetDirectory(tiff_.get(), wanted) == 1);
  page_ = page;
  if (!is_there) tiff_.reset();
  return is_there;
}

uint32_t TiffReader::number(uint32_t tag, uint32_t otherwise) const {
  uint32_t value = 0;
  return TIFFGetFieldDefaulted(tiff_.get(), tag, &value) == 1 ? value : otherwise;
}

uint16_t TiffReader::small(uint32_t tag, uint16_t otherwise) const {
  uint16_t value = 0;
  return TIFFGetFieldDefaulted(tiff_.get(), tag, &value) == 1 ? value : otherwise;
}

}  // namespace spdld::image
