#include "daemon/source/files/archive_search.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "config/uri_pattern.h"
#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/folder.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse_uri(Trouble trouble, const std::string& message) { throw SetupError(trouble, message); }

std::string with_slash(std::string folder) {
  if (!folder.ends_with('/')) folder += '/';
  return folder;
}

class Search {
 public:
  Search(const std::stop_token& stop, const Bounds* bounds, const FileKind& kind)
      : stop_(stop), bounds_(bounds), kind_(kind) {}

  void add_uri(const std::string& uri) {
    struct stat status;
    if (stat_file(bounds_, uri.c_str(), status) == 0 || errno != ENOENT || !config::has_braces(uri)) {
      add_path(uri, uri);
    } else {
      const std::string wrong = config::pattern_error(uri);
      if (!wrong.empty()) refuse_uri(Trouble::kUsage, "source.uri \"" + uri + "\": " + wrong + ".");
      for (const std::string& path : config::expand_braces(uri)) add_path(path, uri);
    }
  }

  FoundArchives take() { return std::move(found_); }

 private:
  // `uri`: where the path comes from.
  void add_path(const std::string& path, const std::string& uri) {
    check_stop(stop_);
    if (path != uri && has_parent_step(path)) refuse_parent_step(uri);
    struct stat status;
    if (stat_file(bounds_, path.c_str(), status) == 0) return add(path, status);
    if (errno == kLeadsOut) refuse_leading_out(path);
    if (errno == ENOENT && config::has_wildcards(path)) return add_fitting(path, uri);
    if (errno != ENOENT) refuse_uri(setup_trouble(errno), path + " can't be read: " + error_words(errno) + ".");
    refuse_uri(Trouble::kNotFound, path == uri ? path + " does not exist." : the_file(path) + " does not exist.");
  }

  std::string the_file(const std::string& path) const { return "the " + std::string(kind_.noun) + ' ' + path; }
  std::string files() const { return std::string(kind_.nouns); }

  [[noreturn]] static void refuse_parent_step(const std::string& uri) {
    refuse_uri(
        Trouble::kUsage,
        "source.uri \"" + uri + "\": a uri with braces or wildcards may have no \"..\" in it: write the path whole.");
  }

  void add(const std::string& path, const struct stat& status) {
    if (!S_ISDIR(status.st_mode)) return add_archive(path, status);
    if (kind_.endings.empty())
      refuse_uri(Trouble::kUsage, path + " is a folder: name the " + files() + " in it, such as " + path + "/*.");
    const size_t before = found_.paths.size();
    const std::string folder = with_slash(path);
    const auto wanted = [&](const std::string& name) { return kind_.takes(name); };
    const std::vector<std::string> names = names_in(folder, wanted);
    refuse_twins(names, kind_.endings, path);
    for (const std::string& name : names) add_archive(folder + name, look_at_archive(folder + name, bounds_, kind_));
    if (found_.paths.size() == before) {
      refuse_uri(Trouble::kUsage, "the folder " + path + " holds no file named " + words_of_endings(kind_.endings) +
                                      std::string(kind_.advice) + ".");
    }
  }

  void add_archive(const std::string& path, const struct stat& status) {
    check_stop(stop_);
    if (!S_ISREG(status.st_mode)) refuse_not_archive(path, kind_);
    if (!seen_.insert(path).second) {
      refuse_uri(Trouble::kUsage,
                 "source.uri names " + the_file(path) + " twice: name each " + std::string(kind_.noun) + " once.");
    }
    if (found_.paths.size() == config::kUriPathsMax) {
      refuse_uri(Trouble::kLimit,
                 "source.uri names more than " + std::to_string(config::kUriPathsMax) + ' ' + files() + ".");
    }
    found_.stamps.add(path, status);
    found_.sizes.push_back(static_cast<uint64_t>(status.st_size));
    found_.paths.push_back(path);
  }

  // One component of the path after the other. A component without wildcards is taken as it is.
  void add_fitting(const std::string& pattern, const std::string& uri) {
    if (has_parent_step(pattern)) refuse_parent_step(uri);
    const std::string fixed = config::fixed_folder(pattern);
    std::vector<std::string> fitting = {fixed == "/" ? "" : fixed};
    for (size_t at = fitting[0].size() + 1; at <= pattern.size() && !fitting.empty();) {
      const size_t end = std::min(pattern.find('/', at), pattern.size());
      const std::string part = pattern.substr(at, end - at);
      const bool is_last = end == pattern.size();
      std::vector<std::string> longer;
      for (const std::string& path : fitting) add_step(path + '/', part, is_last, longer);
      fitting = std::move(longer);
      at = end + 1;
    }
    if (fitting.empty()) refuse_uri(Trouble::kNotFound, "source.uri \"" + uri + "\": nothing fits " + pattern + ".");
    std::sort(fitting.begin(), fitting.end());
    for (const std::string& path : fitting) {
      struct stat status;
      if (stat_file(bounds_, path.c_str(), status) != 0 || !S_ISDIR(status.st_mode))
        status = look_at_archive(path, bounds_, kind_);
      add(path, status);
    }
  }

  // Adds the names in `folder` that fit `part`; where the pattern goes on behind it, they must be folders.
  void add_step(const std::string& folder, const std::string& part, bool is_last, std::vector<std::string>& longer) {
    check_stop(stop_);
    const auto fits = [&](const std::string& path) {
      struct stat status;
      if (stat_file(bounds_, path.c_str(), status) == 0) return is_last || S_ISDIR(status.st_mode);
      if (errno == kLeadsOut && (is_last || leads_to_folder(path))) refuse_leading_out(path);
      return false;
    };
    if (part.empty()) return longer.push_back(folder.substr(0, folder.size() - 1));  // "a//b"
    if (fits(folder + part)) return longer.push_back(folder + part);
    if (!config::has_wildcards(part)) return;
    const auto wanted = [&](const std::string& name) { return ::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0; };
    for (const std::string& name : names_in(folder, wanted)) {
      if (!fits(folder + name)) continue;
      longer.push_back(folder + name);
      if (longer.size() > config::kUriPathsMax) {
        refuse_uri(Trouble::kLimit, "more than " + std::to_string(config::kUriPathsMax) + " names fit " + part +
                                        " in " + folder + " and its neighbours: name fewer.");
      }
    }
  }

  // Names in a folder that `wanted` takes, sorted by their bytes.
  template <typename Wanted>
  std::vector<std::string> names_in(const std::string& folder, const Wanted& wanted) {
    const OpenFolder open = open_folder(folder, bounds_);
    if (open.error_number != 0) refuse_folder(folder, open.error_number);
    found_.stamps.add(folder, open.status);
    std::vector<std::string> names;
    for_each_entry(open.folder.get(), folder, stop_, [&](const dirent& entry) {
      std::string name = entry.d_name;
      if (name == "." || name == ".." || !wanted(name)) return;
      names.push_back(std::move(name));
      if (names.size() > config::kUriPathsMax) {
        refuse_uri(Trouble::kLimit, "the folder " + folder + " holds more than " +
                                        std::to_string(config::kUriPathsMax) + ' ' + files() + ".");
      }
    });
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::stop_token& stop_;
  const Bounds* const bounds_;
  const FileKind& kind_;
  FoundArchives found_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

struct stat look_at_archive(const std::string& path, const Bounds* bounds, const FileKind& kind) {
  struct stat status;
  if (stat_file(bounds, path.c_str(), status) != 0) {
    if (errno == ENOENT)
      refuse_uri(Trouble::kNotFound, "the " + std::string(kind.noun) + ' ' + path + " does not exist.");
    refuse_archive(path, "read", errno, kind);
  }
  if (!S_ISREG(status.st_mode)) refuse_not_archive(path, kind);
  return status;
}

void refuse_archive(const std::string& path, const char* doing, int error_number, const FileKind& kind) {
  if (error_number == kLeadsOut) refuse_leading_out(path);
  refuse_uri(setup_trouble(error_number), "the " + std::string(kind.noun) + ' ' + path + " can't be " + doing + ": " +
                                              error_words(error_number) + ".");
}

void refuse_not_archive(const std::string& path, const FileKind& kind) {
  refuse_uri(Trouble::kUsage, path + " is not a file, so it can't be " + std::string(kind.meant) + ".");
}

size_t common_folder(const std::vector<std::string>& paths) {
  size_t common = paths.front().rfind('/') + 1;
  for (const std::string& path : paths) {
    const auto end = paths.front().begin() + static_cast<ptrdiff_t>(common);
    const auto differs = std::mismatch(paths.front().begin(), end, path.begin(), path.end()).first;
    if (differs != end) common = paths.front().rfind('/', static_cast<size_t>(differs - paths.front().begin())) + 1;
  }
  return common;
}

FoundArchives find_archives(const std::vector<std::string>& uris, const std::stop_token& stop, const Bounds* bounds,
                            const FileKind& kind) {
  Search search(stop, bounds, kind);
  for (const std::string& uri : uris) search.add_uri(uri);
  return search.take();
}

}  // namespace spdld::source
