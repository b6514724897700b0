// Finds the files that a source's uris stand for: the archives of a webdataset, the files of a table. Each uri's braces
// are expanded (config/uri_pattern.h), and each path after that is one of these, looked for in this order:
//
//   a file or folder of that name     an archive; or the archives in it (kArchiveEndings), sorted by name
//   a path with wildcards             the paths that fit it, sorted: archives, and folders of archives
//
// The archives follow one another as the uris do; none may come twice. As in a shell, a wildcard fits no name that
// begins with a dot unless its pattern does, and no "/".
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/files/file_endings.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

class Bounds;

// The kind of the files.
struct FileKind {
  std::string_view noun = "archive", nouns = "archives";
  // How the names of the files end that are taken from a folder (file_endings.h); empty: no folder is taken.
  std::string_view endings = kArchiveEndings;
  bool is_whole_name = false;    // a folder has one such file, whose name is the ending
  std::string_view advice = "";  // the end of a sentence about a folder without such a file
  std::string_view meant = "a tar archive";
  bool may_be_packed = false;  // it is unpacked where its first bytes say that it is compressed

  // Whether a folder's file of this name is taken.
  bool takes(std::string_view name) const {
    return is_whole_name ? name == endings : stem_of(name, endings).has_value();
  }
};

// The file's status; throws SetupError where there is none, or it is no file, or leads out of `bounds`.
struct stat look_at_archive(const std::string& path, const Bounds* bounds, const FileKind& kind = {});

// Both throw SetupError. `doing`: "read".
[[noreturn]] void refuse_archive(const std::string& path, const char* doing, int error_number,
                                 const FileKind& kind = {});
[[noreturn]] void refuse_not_archive(const std::string& path, const FileKind& kind = {});

struct FoundArchives {
  std::vector<std::string> paths;  // at least one, in order
  std::vector<uint64_t> sizes;     // of each; bytes
  Stamps stamps;                   // of the archives, and of the folders whose names were read
};

// One thread. Throws SetupError: nothing fits a uri, an archive is missing, comes twice or is no file, a folder can't
// be read, there are more than config::kUriPathsMax, or a path with braces or wildcards has a ".." in it; and kDenied
// for a path that leads out of `bounds` (nullptr: none), before names are read there.
FoundArchives find_archives(const std::vector<std::string>& uris, const std::stop_token& stop, const Bounds* bounds,
                            const FileKind& kind = {});

// The length of the beginning that all paths share, up to a "/": the names of samples leave it out.
size_t common_folder(const std::vector<std::string>& paths);

}  // namespace spdld::source
