// Finds the archives that a webdataset's uris stand for. Each uri's braces are expanded (config/uri_pattern.h), and
// each path after that is one of these, looked for in this order:
//
//   a file or folder of that name     an archive; or the archives *.tar in it, sorted by name
//   a path with wildcards             the paths that fit it, sorted: archives, and folders of archives
//
// The archives follow one another as the uris do; none may come twice. As in a shell, a wildcard fits no name that
// begins with a dot unless its pattern does, and no "/".
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/stamps.h"

namespace spdld::source {

class Bounds;

// The archive's status; throws SetupError where there is none, or it is no file, or leads out of `bounds`.
struct stat look_at_archive(const std::string& path, const Bounds* bounds);

// Both throw SetupError. `doing`: "read".
[[noreturn]] void refuse_archive(const std::string& path, const char* doing, int error_number);
[[noreturn]] void refuse_not_archive(const std::string& path);

struct FoundArchives {
  std::vector<std::string> paths;  // at least one, in order
  uint64_t bytes = 0;              // of all of them
  Stamps stamps;                   // of the archives, and of the folders whose names were read
};

// One thread. Throws SetupError: nothing fits a uri, an archive is missing, comes twice or is no file, a folder can't
// be read, there are more than config::kUriPathsMax, or a path with braces or wildcards has a ".." in it; and kDenied
// for a path that leads out of `bounds` (nullptr: none), before names are read there.
FoundArchives find_archives(const std::vector<std::string>& uris, const std::stop_token& stop, const Bounds* bounds);

}  // namespace spdld::source
