// The members of one tar archive as the samples of a webdataset. As the webdataset package has it, a member's key is
// its path up to the first dot of its base name, its extension the rest after that dot (in lower case), and
// neighbouring members with the same key are one sample. Members whose path begins with a name like __this__ are passed
// over, as in that package, and so are members whose base name begins with a dot. A link within the archive is a member
// with the bytes of the file that it leads to. Values; one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/content_read.h"
#include "daemon/source/remarks.h"
#include "daemon/store/view.h"

namespace spdld::source {

inline constexpr size_t kExtensionsMax = 64;  // distinct ones of a data set

struct Member {
  uint64_t offset;
  uint64_t size : 56;
  uint64_t extension : 8;  // a place in the table of extensions
};

struct ArchiveIndex {
  std::string keys;                     // of the samples, each ended by NUL
  std::vector<uint64_t> key_starts;     // in keys
  std::vector<uint64_t> first_members;  // of each sample, in members
  std::vector<Member> members;          // in the archive's order; a link has its file's place
  std::vector<std::string> extensions;  // in order of first appearance
  Remarks remarks;
  // Of a compressed archive, whose members' places are those in the tar archive that it holds.
  Compression compression = Compression::kNone;
  uint64_t unpacker_bytes = 0;  // the memory that unpacking takes

  bool is_packed() const { return compression != Compression::kNone; }
  uint64_t end() const;  // of the members' bytes; goes through all of them
};

// Reads the headers of the archive (twice, where members are links), which is unpacked for it where it is compressed,
// and whose base name `name` stands in remarks and `path` in errors; adds the bytes it has gone through to `done`, up
// to the file's size. Throws SetupError where the file is no tar, is unreadable, or has too many extensions.
ArchiveIndex index_archive(store::View& archive, const std::string& path, std::string_view name,
                           std::atomic<uint64_t>& done, const std::stop_token& stop);

// Throws SetupError: there are more than kExtensionsMax extensions. The error names some of them.
[[noreturn]] void refuse_extensions(const std::vector<std::string>& extensions, const std::string& where);

}  // namespace spdld::source
