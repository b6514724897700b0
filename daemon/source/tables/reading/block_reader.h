// Reads a file or an object from its start to its end, in blocks, for an index: the text that is in memory grows until
// a whole row of it is there. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/store/view.h"

namespace spdld::source {

class BlockReader {
 public:
  static constexpr size_t kBlockBytes = 1 << 20;
  // Borrows all of these. `done` counts the bytes that the reader has passed. Smaller blocks suit files whose
  // reader skips most bytes.
  BlockReader(store::View& file, std::atomic<uint64_t>& done, const std::stop_token& stop,
              size_t block_bytes = kBlockBytes);

  // The bytes from offset() on that are in memory.
  std::string_view text() const { return std::string_view(block_).substr(begin_); }
  // Reads more of the file behind text(), at least as much as text() has. False: the file has no more. Throws
  // SetupError where the file can't be read, or where `stop` is asked for.
  bool more();
  // Reads on until text() has `bytes`. False: the file ends before.
  bool have(uint64_t bytes);
  void drop(uint64_t bytes);    // of text()
  void skip(uint64_t bytes);    // also beyond text()
  void drop_byte_order_mark();  // of UTF-8, where text() begins with it
  uint64_t offset() const { return offset_; }
  bool is_at_end() const { return is_at_end_; }  // more() has said so

 private:
  store::View& file_;
  std::atomic<uint64_t>& done_;
  const std::stop_token& stop_;
  const size_t block_bytes_;
  std::string block_;
  size_t begin_ = 0;     // of text(), in block_
  uint64_t offset_ = 0;  // of text(), in the file
  bool is_at_end_ = false;
};

}  // namespace spdld::source
