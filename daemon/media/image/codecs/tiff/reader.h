// libtiff over bytes in memory. One thread a reader.
#pragma once

#include <tiffio.h>

#include <cstdarg>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace spdld::image {

// A page of a TIFF, opened. libtiff's warnings and errors are not written anywhere.
class TiffReader {
 public:
  // `bytes` must stay valid as long as the reader. No single piece of libtiff's memory is larger than
  // `piece_bytes_max`.
  TiffReader(std::span<const uint8_t> bytes, int64_t piece_bytes_max, int page = 0);

  // Whether there is a page. All calls below need one.
  bool is_open() const { return tiff_ != nullptr; }
  // How many pages there are; 0 where the first one was wanted, until count_pages().
  uint64_t pages() const { return pages_; }
  void count_pages();
  // Goes on to a later page, by the headers of the pages between them. False: it can't be read; the reader is closed.
  bool turn_to(int page);

  // A tag's value; its default where the page has none, or `otherwise` where the tag has no default.
  uint32_t number(uint32_t tag, uint32_t otherwise = 0) const;  // of 32 bits
  uint16_t small(uint32_t tag, uint16_t otherwise = 0) const;   // of 16 bits
  TIFF* get() const { return tiff_.get(); }

  // Whether libtiff has told an error since forget_complaints(): not every call gives one back.
  bool has_complained() const { return source_.has_complained; }
  void forget_complaints() const { source_.has_complained = false; }

 private:
  struct Source {
    std::span<const uint8_t> bytes;
    uint64_t at = 0;
    bool has_complained = false;
  };
  struct Close {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };
  static tmsize_t read(thandle_t source, void* to, tmsize_t count);
  static toff_t seek(thandle_t source, toff_t offset, int from);
  static toff_t size(thandle_t source);
  static int map(thandle_t source, void** bytes, toff_t* size);

  static int note_error(TIFF* tiff, void* source, const char* module, const char* format, va_list words);

  mutable Source source_;              // libtiff's calls change it
  std::unique_ptr<TIFF, Close> tiff_;  // points to source_: the reader can't be moved
  uint64_t pages_ = 0;
  int page_ = 0;
};

}  // namespace spdld::image
