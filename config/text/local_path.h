// The paths that uris of local files mean, as people write them: file:///..., absolute paths, and paths from a file's
// folder. Pure function; any thread.
#pragma once

#include <filesystem>
#include <string>

namespace spdld::config {

// The absolute path that a uri (a path, or file:///...) means, or the error in the uri.
struct LocalPath {
  std::string path;
  std::string error;
};
LocalPath local_path_of(const std::string& uri, const std::filesystem::path& folder);

}  // namespace spdld::config
