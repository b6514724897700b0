// Opens the files of data sets. A data set may be bound to some folders (data.roots). Every file that is opened for
// such a data set lies in one of these folders, even if somebody changes links at the same moment. No call waits for a
// FIFO, and no terminal becomes the daemon's own. The caller looks at the status of the opened file, whether it is what
// it should be: a regular file, say.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "proto/unique_fd.h"

namespace spdld::source {

// Without O_NONBLOCK, opening a named pipe would wait for somebody to write to it.
inline constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// errno of a path that leads out of the folders, as openat2 has it.
inline constexpr int kLeadsOut = EXDEV;

// Any thread. Holds a descriptor of each folder, and finds the folder anew where another one has taken its place.
class Bounds {
 public:
  struct Folder {
    std::filesystem::path path;  // links in it are followed
    bool follow_links = false;   // links below it may lead anywhere
    bool lists_only = false;     // holds lists of samples, and no data
    friend bool operator==(const Folder&, const Folder&) = default;
  };
  // How a path is kept below a folder: by the kernel, or a component after the other where the kernel or a sandbox has
  // no openat2.
  enum class Way { kOpenat2, kSteps };
  static Way usable_way();  // found once
  static Way find_way();
  struct Rules {
    // A folder that the daemon may not read refuses the data set, since a daemon of the sender's own may read it.
    bool unreadable_refuses = true;
    Way way = usable_way();
  };

  explicit Bounds(const std::vector<Folder>& folders) : Bounds(folders, Rules()) {}
  Bounds(const std::vector<Folder>& folders, Rules rules);
  ~Bounds();
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;

  // As open(2) with kOpenFlags and `flags`: a descriptor, or -1 and errno, which is kLeadsOut for a path that leads
  // out.
  int open(const char* path, int flags = 0) const;
  int open_list(const char* path) const;     // of samples
  int open_at_hand(const char* path) const;  // EAGAIN where the way to the file is not in memory
  // As stat(2), by the same rules; opens nothing for reading.
  int stat(const char* path, struct stat& status) const;
  // Throws SetupError (kDenied) where the path leads out of the folders. A path that leads nowhere passes.
  void check(const std::string& path) const;

  bool unreadable_refuses() const { return rules_.unreadable_refuses; }

 private:
  struct Place;
  class Root;
  struct Found;
  struct Wish {
    int flags;
    uint64_t resolve;  // more of openat2's RESOLVE_... flags
    bool is_list = false;
  };

  Found find(std::string_view path, bool is_list) const;
  int open_wished(const char* path, const Wish& wish) const;
  int open_in(const Found& found, const Place* place, const Wish& wish) const;
  int open_where_it_leads(const char* path, const Wish& wish) const;
  int open_below(int folder, const char* path, const Wish& wish, uint64_t resolve) const;

  const Rules rules_;
  std::vector<std::unique_ptr<Root>> roots_;
};

// As Bounds's functions; for a data set that may lie anywhere (nullptr) as well.
int open_file(const Bounds* bounds, const char* path, int flags = 0);
int open_file_at_hand(const Bounds* bounds, const char* path);
int stat_file(const Bounds* bounds, const char* path, struct stat& status);

// Whether the path has a step "..": where it leads depends on links.
bool has_parent_step(std::string_view path);
std::string leads_out(const std::string& path);                 // the sentence
[[noreturn]] void refuse_leading_out(const std::string& path);  // throws SetupError (kDenied)

}  // namespace spdld::source
