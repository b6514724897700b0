// Values of a long text of JSON, taken off a file one after another: no more than one value is in memory. The text is
// not trusted. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/source/tables/reading/block_reader.h"

namespace spdld::source {

// The largest value that is taken whole.
inline constexpr uint64_t kJsonValueBytesMax = 128 << 20;

class JsonStream {
 public:
  // Borrows both. `path` begins the errors.
  JsonStream(BlockReader& reader, const std::string& path) : reader_(reader), path_(path) {}

  // The following throw SetupError where the text is no JSON, or the file can't be read.

  bool take(char sign);  // takes the sign, with the blanks before it, where it is the next one
  void want(char sign);
  bool is_at_end();  // but for blanks
  // The next value as it is written, from its first character to its last. It is found by its quotes and brackets, so
  // that JsonText has to look whether it is sound. It stays valid until drop(), which must be called before the next
  // value is taken.
  std::string_view value();
  void drop();
  // The place of the next character that was not taken.
  uint64_t offset() const { return reader_.offset(); }

  // Throws SetupError: "PATH, byte 17: CLAUSE."
  [[noreturn]] void refuse(const std::string& clause) const;

 private:
  char next();  // behind the blanks; NUL: the file ends

  BlockReader& reader_;
  const std::string& path_;
  size_t taken_ = 0;  // bytes of the value that is taken
};

}  // namespace spdld::source
