#include "daemon/source/files/bounds.h"

#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "daemon/base/result.h"

namespace spdld::source {
namespace {

constexpr int kTriesMax = 8;       // where folders on the way are renamed meanwhile
constexpr size_t kPlacesMax = 32;  // that one folder is found at: each stays open
constexpr uint64_t kBelow = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

int openat2(int folder, const char* path, int flags, uint64_t resolve) {
  struct open_how how {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = resolve;
  for (int tries = 0;; ++tries) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
    // EAGAIN: a folder was renamed while a ".." was followed.
    const bool is_again = fd < 0 && errno == EAGAIN && (resolve & RESOLVE_CACHED) == 0;
    if (!is_again || tries == kTriesMax) return fd;
  }
}

int failed(int error_number) {
  errno = error_number;
  return -1;
}

// No link is followed: ELOOP or ENOTDIR where one is on the way. The path is relative and has no "..".
int open_by_steps(int folder, std::string path, int flags) {
  if (path.ends_with('/')) flags |= O_DIRECTORY;
  while (path.ends_with('/')) path.pop_back();
  UniqueFd held;
  for (size_t start = 0;;) {
    start = path.find_first_not_of('/', start);
    const size_t end = path.find('/', start);
    if (end == std::string::npos) {
      UniqueFd opened(::openat(folder, path.c_str() + start, flags | O_NOFOLLOW));
      struct stat status;
      if (!opened) return -1;
      if (::fstat(opened.get(), &status) != 0) return -1;
      return S_ISLNK(status.st_mode) ? failed(ELOOP) : opened.release();  // O_PATH opens the link itself
    }
    path[end] = '\0';
    held = UniqueFd(::openat(folder, path.c_str() + start, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!held) return -1;
    folder = held.get();
    start = end + 1;
  }
}

// The path of an open file without links; empty: it has none, or /proc is missing.
std::string real_path(int fd) {
  std::array<char, 32> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  std::array<char, PATH_MAX> path;
  const ssize_t bytes = ::readlink(link.data(), path.data(), path.size());
  const bool is_whole = bytes > 0 && static_cast<size_t>(bytes) < path.size() && path[0] == '/';
  return is_whole ? std::string(path.data(), static_cast<size_t>(bytes)) : std::string();
}

// The path from `folder` on, "." for the folder itself; nullptr: the path does not lie there.
const char* rest_below(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) return nullptr;
  const char* rest = path.data() + (folder == "/" ? 0 : folder.size());
  if (*rest != '/' && *rest != '\0') return nullptr;
  while (*rest == '/') ++rest;
  return *rest == '\0' ? "." : rest;
}

}  // namespace

bool has_parent_step(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

// A folder as it was found.
struct Bounds::Place {
  std::string path;  // without links, and without "/" at its end
  UniqueFd fd;       // O_PATH
  dev_t device = 0;
  ino_t inode = 0;
};

class Bounds::Root {
 public:
  explicit Root(const Folder& folder) : folder_(folder) {
    // A path with ".." may mean another folder than its text does.
    const std::string given = folder.path.string();
    if (!has_parent_step(given)) name_ = without_slash(folder.path.lexically_normal().string());
    find_anew(nullptr);
  }

  const Folder& folder() const { return folder_; }
  const Place* place() const { return place_.load(std::memory_order_acquire); }  // nullptr: it is not there
  // As it was written in the settings: links lead to the place.
  const std::string& name() const { return name_; }

  // True where the folder's path now leads to another folder than `tried`: somebody mounted or replaced it.
  bool find_anew(const Place* tried) {
    const std::lock_guard lock(mutex_);
    if (place() != tried) return true;  // another thread has found it
    auto next = std::make_unique<Place>();
    next->fd = UniqueFd(::open(folder_.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status;
    if (!next->fd || ::fstat(next->fd.get(), &status) != 0) return false;
    next->device = status.st_dev;
    next->inode = status.st_ino;
    const bool is_same = tried != nullptr && tried->device == next->device && tried->inode == next->inode;
    next->path = without_slash(real_path(next->fd.get()));
    if (is_same || places_.size() == kPlacesMax) return false;
    places_.push_back(std::move(next));
    place_.store(places_.back().get(), std::memory_order_release);
    return true;
  }

 private:
  static std::string without_slash(std::string path) {
    while (path.ends_with('/') && path != "/") path.pop_back();
    return path;
  }

  const Folder folder_;
  std::string name_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Place>> places_;  // under mutex_; the earlier ones may still be in use
  std::atomic<const Place*> place_{nullptr};
};

struct Bounds::Found {
  Root* root = nullptr;
  const char* rest = nullptr;  // of the path, below the root
};

Bounds::Way Bounds::usable_way() {
  static const Way way = find_way();
  return way;
}

Bounds::Way Bounds::find_way() {
  const UniqueFd fd(openat2(AT_FDCWD, "/", O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS));
  return fd ? Way::kOpenat2 : Way::kSteps;
}

Bounds::Bounds(const std::vector<Folder>& folders, Rules rules) : rules_(rules) {
  for (const auto& folder : folders) roots_.push_back(std::make_unique<Root>(folder));
}

Bounds::~Bounds() = default;

int Bounds::open(const char* path, int flags) const { return open_wished(path, {kOpenFlags | flags, 0}); }

int Bounds::open_list(const char* path) const { return open_wished(path, {kOpenFlags, 0, true}); }

int Bounds::open_at_hand(const char* path) const {
  if (rules_.way == Way::kSteps) return failed(EAGAIN);
  return open_wished(path, {kOpenFlags, RESOLVE_CACHED});
}

int Bounds::stat(const char* path, struct stat& status) const {
  const UniqueFd fd(open_wished(path, {O_PATH | O_CLOEXEC, 0}));
  return fd ? ::fstat(fd.get(), &status) : -1;
}

void Bounds::check(const std::string& path) const {
  struct stat status;
  if (stat(path.c_str(), status) != 0 && errno == kLeadsOut) refuse_leading_out(path);
}

// The innermost folder that the path's text lies in.
Bounds::Found Bounds::find(std::string_view path, bool is_list) const {
  Found best;
  for (const auto& root : roots_) {
    if (root->folder().lists_only && !is_list) continue;
    const Place* place = root->place();
    const char* rest = rest_below(path, root->name());
    if (rest == nullptr && place != nullptr) rest = rest_below(path, place->path);
    if (rest != nullptr && (best.root == nullptr || std::strlen(rest) < std::strlen(best.rest))) {
      best = {root.get(), rest};
    }
  }
  return best;
}

int Bounds::open_wished(const char* path, const Wish& wish) const {
  const Found found = find(path, wish.is_list);
  const bool is_sure = found.root != nullptr && (!found.root->folder().follow_links || !has_parent_step(path));
  if (is_sure) {
    const Place* tried = found.root->place();
    int fd = open_in(found, tried, wish);
    const bool may_wait = (wish.resolve & RESOLVE_CACHED) == 0;
    const bool is_lost = fd < 0 && may_wait && (errno == ENOENT || errno == ESTALE);
    const int error_number = errno;
    if (is_lost) fd = found.root->find_anew(tried) ? open_in(found, found.root->place(), wish) : failed(error_number);
    if (fd >= 0 || errno != kLeadsOut) return fd;
  }
  return open_where_it_leads(path, wish);
}

int Bounds::open_in(const Found& found, const Place* place, const Wish& wish) const {
  if (place == nullptr) return failed(ENOENT);
  if (found.root->folder().follow_links) {
    if (rules_.way == Way::kSteps) return ::openat(place->fd.get(), found.rest, wish.flags);
    return openat2(place->fd.get(), found.rest, wish.flags, RESOLVE_NO_MAGICLINKS | wish.resolve);
  }
  return open_below(place->fd.get(), found.rest, wish, kBelow);
}

int Bounds::open_below(int folder, const char* path, const Wish& wish, uint64_t resolve) const {
  if (rules_.way == Way::kOpenat2) return openat2(folder, path, wish.flags, resolve | wish.resolve);
  if (has_parent_step(std::string("/") + path)) return failed(kLeadsOut);  // maybe
  const int fd = open_by_steps(folder, path, wish.flags);
  return fd < 0 && (errno == ELOOP || errno == ENOTDIR) ? failed(kLeadsOut) : fd;  // maybe: it goes over a link
}

// For a path that goes over a link out of its folder, or over an absolute link: where it really leads may well lie in a
// folder. That place is looked up first and then opened without any link, so nobody can swap it in between.
int Bounds::open_where_it_leads(const char* path, const Wish& wish) const {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const int flags = O_PATH | O_CLOEXEC;
    const UniqueFd there(rules_.way == Way::kSteps
                             ? ::open(path, flags)
                             : openat2(AT_FDCWD, path, flags, RESOLVE_NO_MAGICLINKS | wish.resolve));
    if (!there) return failed(errno == ELOOP ? kLeadsOut : errno);
    const std::string real = real_path(there.get());
    const Found found = find(real, wish.is_list);
    const Place* place = found.root == nullptr ? nullptr : found.root->place();
    if (place == nullptr) return failed(kLeadsOut);
    const int fd = open_below(place->fd.get(), found.rest, wish, kBelow | RESOLVE_NO_SYMLINKS);
    if (fd >= 0 || (errno != ELOOP && errno != kLeadsOut)) return fd;
  }
  return failed(kLeadsOut);
}

int open_file(const Bounds* bounds, const char* path, int flags) {
  return bounds == nullptr ? ::open(path, kOpenFlags | flags) : bounds->open(path, flags);
}

int open_file_at_hand(const Bounds* bounds, const char* path) {
  return bounds == nullptr ? openat2(AT_FDCWD, path, kOpenFlags, RESOLVE_CACHED) : bounds->open_at_hand(path);
}

int stat_file(const Bounds* bounds, const char* path, struct stat& status) {
  return bounds == nullptr ? ::stat(path, &status) : bounds->stat(path, status);
}

std::string leads_out(const std::string& path) {
  return path + " leads out of the folders that the pipeline may read.";
}

void refuse_leading_out(const std::string& path) {
  throw SetupError(Trouble::kDenied,
                   leads_out(path) + " The operator allows such links with follow_links = true in [[data.roots]].");
}

}  // namespace spdld::source
