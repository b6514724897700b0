// The links of one tar archive, and the files that they lead to. A hard link names a member before it; one of a
// symbolic link is a symbolic link itself, in its own folder. A symbolic link names a path from its own folder on, and
// may go through folders that are symbolic links. Each link is followed once, however many other links lead through it,
// so that an archive of links alone costs time in proportion to its size.
//
// An archive with links is read twice: the first time tells the links, and the second time the files that they name.
// Nothing is kept of an archive without links. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/archives/tar.h"

namespace spdld::source {

class ArchiveLinks {
 public:
  static constexpr size_t kLinksMax = 1 << 20;        // of an archive
  static constexpr size_t kTextBytesMax = 128 << 20;  // of their names and targets, and again of the paths they lead to
  static constexpr unsigned kFolderLinksMax = 16;     // on the way of one link

  enum class End : uint8_t {
    kFile,
    kMissing,  // the archive does not hold it
    kOutside,  // it lies outside of the archive
    kCircle,   // the links lead round in a circle, or through too many folders
    kFolder,
    kSpecial,  // as TarMemberKind has them
    kSparse,
    kContinued,
    kTooMany  // too much is named by the links of the archive
  };
  struct Found {
    End end = End::kMissing;
    uint64_t offset = 0, size = 0;  // kFile
  };

  // The first time, each link in the archive's order. Returns its number; none: there are too many.
  std::optional<uint32_t> add(const TarMember& link);
  // Then, for each link whose file is wanted.
  void want(uint32_t link);
  // The second time, each member in the archive's order, but for renames.
  void see(const TarMember& member);
  // Then: where the link leads.
  Found find(uint32_t link);
  std::string_view target_of(uint32_t link) const { return own_target(all_[link]); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    uint64_t text;  // in texts_: the name, then the target
    uint32_t name_bytes, target_bytes;
    uint64_t number;  // of the member
    uint32_t part;
    TarMemberKind kind;
    Found found;  // of a file, or of a link that was followed
    bool is_wanted = false, is_on_way = false, is_found = false;
    uint32_t like = kNone;  // of a hard link: the symbolic link that it is one more name of
    bool is_symbolic() const { return kind == TarMemberKind::kSymbolicLink || like != kNone; }
    bool is_link() const { return kind == TarMemberKind::kHardLink || kind == TarMemberKind::kSymbolicLink; }
  };

  std::string_view name(const Entry& entry) const { return {texts_.data() + entry.text, entry.name_bytes}; }
  std::string_view own_target(const Entry& entry) const {
    return {texts_.data() + entry.text + entry.name_bytes, entry.target_bytes};
  }
  std::string_view target(const Entry& entry) const {
    return own_target(entry.like == kNone ? entry : all_[entry.like]);
  }
  using Order = std::vector<uint32_t>;  // of all_, by part, name and number

  void sort(Order& order, size_t end) const;
  const Entry* last_of(const Order& order, std::string_view path, uint32_t part, uint64_t before) const;
  const Entry* folder_link(std::string_view path, uint32_t part) const;
  void liken(const Order& order);
  bool want_path(const Entry& link, const std::string& path);
  bool has_link_between(uint64_t first, uint64_t last) const;
  std::optional<End> lead(const Entry& link, std::string& path) const;
  uint64_t limit_of(const Entry& link) const;

  std::vector<Entry> all_;  // the links, by number, then what they name
  size_t links_ = 0;
  bool is_likened_ = false;
  Order link_order_, order_;  // of the links alone, and of all
  std::string texts_;
  std::map<std::string, uint32_t, std::less<>> wanted_;  // paths, each behind its part, and their last entries
  size_t wanted_bytes_ = 0;
  bool is_full_ = false;  // not all that links name is known
};

}  // namespace spdld::source
