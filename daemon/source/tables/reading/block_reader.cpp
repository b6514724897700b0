#include "daemon/source/tables/reading/block_reader.h"

#include <algorithm>

#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/result.h"
#include "daemon/source/parts.h"

namespace spdld::source {

// A block of a small file holds the file, and tells its end.
BlockReader::BlockReader(store::View& file, std::atomic<uint64_t>& done, const std::stop_token& stop,
                         size_t block_bytes)
    : file_(file),
      done_(done),
      stop_(stop),
      block_bytes_(file.size() == store::View::kSizeUnknown
                       ? block_bytes
                       : static_cast<size_t>(std::min<uint64_t>(block_bytes, file.size() + 1))) {}

bool BlockReader::more() {
  check_stop(stop_);
  block_.erase(0, begin_);
  begin_ = 0;
  const size_t before = block_.size(), wanted = std::max(block_bytes_, before);
  block_.resize(before + wanted);
  const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(block_.data()) + before, wanted);
  const Result<uint64_t> read = file_.read(offset_ + before, to);
  if (!read) throw SetupError(read.error().trouble, read.error().message);
  const auto got = static_cast<size_t>(*read);
  block_.resize(before + got);
  if (got < wanted) is_at_end_ = true;
  return got > 0;
}

bool BlockReader::have(uint64_t bytes) {
  while (text().size() < bytes)
    if (is_at_end_ || !more()) return text().size() >= bytes;
  return true;
}

void BlockReader::drop(uint64_t bytes) {
  begin_ += static_cast<size_t>(bytes);
  offset_ += bytes;
  done_.fetch_add(bytes, std::memory_order_relaxed);
}

void BlockReader::drop_byte_order_mark() {
  if (have(kByteOrderMark.size()) && text().starts_with(kByteOrderMark)) drop(kByteOrderMark.size());
}

void BlockReader::skip(uint64_t bytes) {
  if (bytes <= text().size()) return drop(bytes);
  block_.clear();
  begin_ = 0;
  offset_ += bytes;
  done_.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace spdld::source
