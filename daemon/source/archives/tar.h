// Goes through the members of a tar archive by its headers alone: USTAR and PAX (POSIX.1-2017, pax, "ustar Interchange
// Format" and "pax Header Block"), GNU long names and base-256 sizes (GNU tar manual, "Basic Tar Format"), and the
// older formats. Archives that stand one behind the other, as "cat a.tar b.tar" makes them, are read as one. Nothing in
// the archive is trusted: every number is checked against the file's size before it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/byte_buffer.h"
#include "daemon/store/view.h"

namespace spdld::source {

enum class TarMemberKind : uint8_t {
  kFile,
  kHardLink,
  kSymbolicLink,
  kFolder,
  kSpecial,    // a device or a FIFO
  kSparse,     // a file whose bytes do not lie together
  kContinued,  // the rest of a file that another volume begins
  kRenames     // what old GNU tar writes about long names
};

struct TarMember {
  TarMemberKind kind = TarMemberKind::kFile;
  char unknown_type = 0;  // kFile: of a type that no format knows, which POSIX has read as a file
  std::string name;       // as in the archive, without NUL
  std::string target;     // of a link, as in the archive
  uint64_t offset = 0;
  uint64_t size = 0;    // kFile: offset + size is inside the file
  uint64_t number = 0;  // of members before it
  uint32_t part = 0;    // of archives that stand before its own, where several are joined

  bool is_link() const { return kind == TarMemberKind::kHardLink || kind == TarMemberKind::kSymbolicLink; }
};

inline constexpr size_t kTarNameMax = 4096;  // of names that are used

enum class TarEnd : uint8_t {
  kMark,     // a block of zeros, as it should be
  kNoMark,   // the file ends after a member, without the mark
  kCut,      // the file ends inside a header or a member
  kDamaged,  // no header where there should be one
};

enum class TarTailKind : uint8_t {
  kNothing,
  kOther,    // bytes that are no archive
  kArchive,  // what looks like an archive, but for its first header or its place
  kUnseen    // more zeros than are looked at
};

// The bytes behind an end mark, which is two blocks of zeros at least. Further archives are read, and are none of
// these.
struct TarTail {
  TarTailKind kind = TarTailKind::kNothing;
  uint64_t at = 0;
};

// One thread at a time. Borrows the view.
class TarReader {
 public:
  static constexpr uint64_t kZerosMax = 64 << 20;  // that are passed over for what may stand behind them

  // `path` is for error sentences. Throws SetupError when the archive can't be read, here and below.
  TarReader(store::View& view, const std::string& path);

  // The next member, of any kind; false at the end. A header that tells something of other members (a long name, say)
  // is no member.
  bool next(TarMember& member);

  // The reader's position, in bytes from the start; after the end: where the end was found.
  uint64_t position() const { return position_; }
  uint64_t file_size() const { return file_size_; }  // kSizeUnknown: its end was not reached
  // How the archive ended. Valid after next() gave false.
  TarEnd end() const { return end_; }
  const std::string& damage() const { return damage_; }        // kDamaged: the damage in words
  const std::string& cut_member() const { return cut_name_; }  // kCut: member whose bytes are missing; empty: unknown
  const TarTail& tail() const { return tail_; }                // kMark
  // So far.
  uint32_t joined_archives() const { return part_; }  // behind the first one
  uint64_t lone_zero_blocks() const { return lone_zeros_; }
  uint64_t first_lone_zero_block() const { return first_lone_zero_; }

 private:
  struct Header;
  // The contents of PAX and GNU headers, for the member after them, or for all. An empty text of one member stands for
  // the value in its own header.
  struct Extension {
    std::optional<std::string> name, target;
    std::optional<uint64_t> size;
    bool sparse = false;
  };

  // The file's bytes from `offset` on, until the next call; nullptr where the file ends before them.
  const uint8_t* bytes_at(uint64_t offset, uint64_t size);
  void fill_window(uint64_t offset, uint64_t size);
  // The following functions return false after they have set end_.
  bool stop(TarEnd end, std::string text = {});
  bool read_header(Header& header);
  bool pass_zeros();
  bool stop_behind(uint64_t zeros_start, uint64_t at);
  bool read_extension(const Header& header, Extension& extension);
  bool take_record(std::string_view key, std::string_view value, Extension& extension);
  bool skip_sparse_map(Header& header);
  bool settle(Header& header, const Extension& extension);
  bool has_link_content(const Header& header);
  bool has_content(const Header& header);
  void give(Header& header, const Extension& extension, TarMember& member);

  store::View& view_;
  uint64_t file_size_ = 0, position_ = 0;

  ByteBuffer window_;  // the part of the file that was read last
  uint64_t window_start_ = 0;
  uint64_t read_size_;

  bool ended_ = false;
  TarEnd end_ = TarEnd::kMark;
  std::string damage_, cut_name_;
  TarTail tail_;
  Extension of_all_;  // of a global PAX header
  uint64_t members_ = 0, lone_zeros_ = 0, first_lone_zero_ = 0;
  uint32_t part_ = 0;
};

}  // namespace spdld::source
