#include "client/cli/data_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "config/catalogue.h"
#include "config/side_paths.h"
#include "config/text/remote_uri.h"
#include "config/uri_pattern.h"

namespace spdld::cli {
namespace {

namespace fs = std::filesystem;

// Empty: it is there, and this user may read it.
std::string fault_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
      return "can't be looked at (" + error.message() + ")";
    return "does not exist here";
  }
  const bool is_folder = fs::is_directory(status);
  if (access(path.c_str(), is_folder ? R_OK | X_OK : R_OK) != 0)
    return std::string("can't be read by this user (") + std::strerror(errno) + ")";
  if (is_folder && fs::is_empty(path, error) && !error) return "is an empty folder";
  return {};
}

class Looks {
 public:
  void look(const std::string& key, const std::string& path) {
    if (path.empty() || config::is_remote(path) || !looked_.insert(path).second || found_.size() == kDataRemarksMax)
      return;
    if (const std::string fault = fault_of(path); !fault.empty())
      found_.push_back(key + ": " + path + " " + fault + ".");
  }
  std::vector<std::string> found() && { return std::move(found_); }

 private:
  std::set<std::string> looked_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> data_remarks(const config::PipelineSpec& spec) {
  Looks looks;
  for (const auto& source : spec.sources) {
    const std::string table = source.name.empty() ? "source" : "source " + source.name;
    const config::SourceType* const type = config::find_source(source.type);
    for (const auto& place : config::places_of(source)) {
      // Of a pattern, the folder that all its files lie below.
      const bool is_pattern =
          type != nullptr && type->takes_patterns && (config::has_braces(place) || config::has_wildcards(place));
      if (!is_pattern) looks.look(table + ": uri", place);
    }
  }
  for (const config::ListPath& list : config::list_paths_of(spec)) looks.look(list.key, list.path);
  for (const auto& path : config::side_paths_of(spec)) looks.look("output", path);
  return std::move(looks).found();
}

}  // namespace spdld::cli
