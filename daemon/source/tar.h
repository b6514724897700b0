// Goes through the members of a tar archive by its headers alone: USTAR and PAX (POSIX.1-2017, pax, "ustar Interchange
// Format" and "pax Header Block"), GNU long names and base-256 sizes (GNU tar manual, "Basic Tar Format"), and the
// older formats. Nothing in the archive is trusted: every number is checked against the file's size before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/byte_buffer.h"
#include "daemon/store/view.h"

namespace spdld::source {

struct TarMember {
  std::string name;  // as in the archive, at most kTarNameMax bytes, without NUL
  uint64_t offset = 0;
  uint64_t size = 0;  // offset + size is inside the file
};

inline constexpr size_t kTarNameMax = 4096;

enum class TarEnd : uint8_t {
  kMark,     // a block of zeros, as it should be
  kNoMark,   // the file ends after a member, without the mark
  kCut,      // the file ends inside a header or a member
  kDamaged,  // no header where there should be one
};

// One thread at a time. Borrows the view.
class TarReader {
 public:
  // `path` is for error sentences. Throws SetupError when the archive can't be read, here and below.
  TarReader(store::View& view, const std::string& path);

  // The next regular file; false at the end. Folders, links, devices and the like are passed over.
  bool next(TarMember& member);

  // The reader's position, in bytes from the start; after the end: where the end was found.
  uint64_t position() const { return position_; }
  uint64_t file_size() const { return file_size_; }  // kSizeUnknown: its end was not reached
  // How the archive ended. Valid after next() gave false.
  TarEnd end() const { return end_; }
  const std::string& damage() const { return damage_; }        // kDamaged: the damage in words
  const std::string& cut_member() const { return cut_name_; }  // kCut: member whose bytes are missing; empty: unknown
  // The number of regular files since the last call that can't be given: sparse files (their bytes are not together),
  // and files with too long names.
  uint64_t take_unreadable() { return std::exchange(unreadable_, 0); }

 private:
  struct Header;
  // A PAX or GNU header's data on the member after it.
  struct Extension {
    std::string name;
    bool has_name = false, has_size = false, sparse = false;
    uint64_t size = 0;
  };

  // The file's bytes from `offset` on, until the next call; nullptr where the file ends before them.
  const uint8_t* bytes_at(uint64_t offset, uint64_t size);
  void fill_window(uint64_t offset, uint64_t size);
  // The following functions return false after they have set end_.
  bool stop(TarEnd end, std::string text = {});
  bool read_header(Header& header);
  bool read_extension(const Header& header, Extension& extension);
  bool skip_sparse_map(Header& header);
  bool has_content(const Header& header);

  store::View& view_;
  uint64_t file_size_ = 0, position_ = 0;

  ByteBuffer window_;  // the part of the file that was read last
  uint64_t window_start_ = 0;
  uint64_t read_size_;

  bool ended_ = false;
  TarEnd end_ = TarEnd::kMark;
  std::string damage_, cut_name_;
  uint64_t unreadable_ = 0;
};

}  // namespace spdld::source
