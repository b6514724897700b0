// A webdataset's uri may stand for many paths: braces as in a shell ("a-{000..127}.tar", "{train,extra}/a.tar", also
// several and within one another) and wildcards ("a-*.tar", "[ab]?.tar"). Braces are text alone and are expanded here;
// wildcards are found in the file system, by daemon/source. Nothing in a uri is trusted: nesting, paths and their bytes
// are bounded. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

inline constexpr uint64_t kUriPathsMax = 1'000'000;         // of all uris of a source
inline constexpr uint64_t kUriPathBytesMax = 256ull << 20;  // of all paths of a source together
inline constexpr size_t kBraceDepthMax = 4;                 // braces within braces

bool has_braces(std::string_view path);
bool has_wildcards(std::string_view path);  // * ? [

// Says what is wrong with a path's braces or wildcards, as the end of a sentence about the path; empty: nothing is
// wrong.
std::string pattern_error(std::string_view path);

// How many paths the braces of `path` make, and their bytes. Precondition: pattern_error is empty.
struct Expansion {
  uint64_t paths = 0, bytes = 0;  // at the most UINT64_MAX
};
Expansion expansion_of(std::string_view path);

// The paths, in the order in which a shell gives them: the last braces change fastest. Numbers are as wide as they are
// written. Precondition: pattern_error is empty, so that there are at most kUriPathsMax.
std::vector<std::string> expand_braces(std::string_view path);

// The folder that all paths of a pattern lie in: up to the last "/" before its first brace or wildcard. A path without
// either is itself.
std::string fixed_folder(std::string_view path);

// The paths that decide where a source's files lie: its uris, and for a uri with braces or wildcards also the folder of
// all its paths. Links below a folder are followed.
std::vector<std::string> places_of(const SourceSpec& source);

}  // namespace spdld::config
