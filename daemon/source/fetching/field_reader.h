// Reads the fields of requests from local files, as each FieldFetch asks, with as few system calls as possible (open,
// pread, fstat, close; a stat alone where nothing has changed), and takes packed fields out of what holds them. One
// thread.
//
// A file may change while it is read. The listing knows most files' sizes and times: such a file is looked at (fstat)
// once, after it was read, and where it is still as it was listed, the bytes are right. Of some files the listing knows
// the name alone: a large one is looked at before and after it is read, and both looks must agree; a small one is
// looked at once, after it was read.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/result.h"
#include "daemon/source/fetching/fetcher.h"
#include "proto/unique_fd.h"

namespace spdld::source {

class FieldReader {
 public:
  explicit FieldReader(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Sets the request's results, except its duration. False: its budget has no room for its bytes; the request waits
  // there, comes again through `fetcher`, and is not the caller's any more.
  bool read(FetchRequest& request, Fetcher& fetcher);
  // As read(), from the kernel's memory alone (RESOLVE_CACHED of openat2, RWF_NOWAIT of preadv2: Linux 5.12). False:
  // not everything is there, or something is wrong; the request must be read in full by read().
  bool read_at_hand(FetchRequest& request);

 private:
  void read_fields(FetchRequest& request);
  Status read_field(FetchRequest& request, size_t i);
  Status find(const FetchRequest& request, FieldId field, Locator& locator);
  Status read_kept(const Locator& locator, FieldFetch& field, ByteBuffer& bytes);
  bool is_unchanged(const Locator& locator, const Identity& identity);
  Status open(const Locator& locator);
  Status look();
  std::optional<size_t> read_small();
  Status check_open();
  void finish(FetchRequest& request);
  struct FileRange {  // of the open file
    uint64_t offset, size;
  };
  Result<FileRange> find_range(const Locator& locator, uint64_t bytes_max) const;
  Status read_file(const Locator& locator, FieldFetch& field, ByteBuffer& bytes);
  Status read_parts(const Locator& locator, FieldFetch& field, ByteBuffer& bytes);
  Status read_packed(const Locator& locator, ByteBuffer& bytes);
  Status unpack(const Locator& locator, std::span<const uint8_t> holder, const std::string& object, ByteBuffer& bytes);
  Status unpack_field(const FetchRequest& request, size_t i, ByteBuffer& bytes);
  Status read_holder(const Locator& locator);
  Status read_pieces(ByteBuffer& bytes);
  Status read_piece(const Locator& piece, uint8_t* to);
  bool read_copy(const FieldFetch& field, ByteBuffer& bytes);
  bool has_room(uint64_t bytes);
  // Returns the bytes read; fewer than wanted: the file ends there; < 0: errno says why, or has_no_room_.
  int64_t read_bytes(int fd, uint64_t offset, uint64_t count, ByteBuffer& bytes);
  int64_t read_to(int fd, uint64_t offset, uint64_t count, uint8_t* to);

  const uint64_t bytes_max_;
  bool at_hand_ = false;             // read_at_hand is under way
  FetchRequest* request_ = nullptr;  // being read
  uint64_t wanted_bytes_ = 0;        // of its fields that have been read, and of the next field
  bool has_no_room_ = false;         // for these: nothing more is read
  std::string path_;                 // of the field's file
  std::vector<Locator> pieces_;      // of a row's field
  const Bounds* bounds_ = nullptr;   // where the file must lie
  // The last file that this request opened: the fields of a sample mostly lie in one archive.
  UniqueFd fd_;
  std::string open_path_;
  Identity listed_;        // of the open file; {}: the listing knows its name alone
  struct stat status_ {};  // of the open file before it was read, where listed_ is {}
  bool has_status_ = false;
  bool is_checked_ = false;  // nothing was read of the open file since it was looked at
  // The bytes that the last packed field was taken out of: the fields of a table's row mostly lie in one of them.
  ByteBuffer holder_;
  uint64_t holder_offset_ = 0;
  int64_t holder_length_ = -1;         // -1: none
  std::array<uint8_t, 4096> small_{};  // the bytes of a small file, before it is known how many there are
};

}  // namespace spdld::source
