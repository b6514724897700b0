// The ways in which a file that a daemon reads is changed by others. One thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace spdld::test {

enum class Change {
  kReplaced,   // by another file, of the same size and time of modification, by a rename
  kRewritten,  // in place, with the same size, and the time of modification set back
  kTruncated,  // to nothing, and written again as it was, with the time of modification set back
  kShortened,  // by a byte
  kAppended,   // by a byte
  kModeAlone,  // no byte is another one
};
inline constexpr Change kAllChanges[] = {Change::kReplaced,  Change::kRewritten, Change::kTruncated,
                                         Change::kShortened, Change::kAppended,  Change::kModeAlone};

inline std::string_view name_of(Change change) {
  constexpr std::string_view kNames[] = {"replaced", "rewritten", "truncated", "shortened", "appended", "mode alone"};
  return kNames[static_cast<size_t>(change)];
}

inline struct stat status_of(const std::string& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

inline void set_modified(const std::string& path, const struct timespec& modified) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, modified};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

inline void write_over(const std::string& path, std::string_view content, bool truncates = false) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (truncates ? O_TRUNC : 0), 0600);
  REQUIRE(fd >= 0);
  const ssize_t written = ::pwrite(fd, content.data(), content.size(), 0);
  ::close(fd);
  REQUIRE(written == static_cast<ssize_t>(content.size()));
}

// Until the file system's clock has gone on behind the file's last change.
inline void await_clock(const std::string& path) {
  const struct timespec before = status_of(path).st_ctim;
  const std::string other = path + ".clock";
  struct timespec now = before;
  while (now.tv_sec == before.tv_sec && now.tv_nsec == before.tv_nsec) {
    write_over(other, "x");
    now = status_of(other).st_ctim;
    std::filesystem::remove(other);
  }
}

// `content`: what the file becomes where it is rewritten or replaced, of the size that it has.
inline void change_file(const std::string& path, Change change, std::string_view content) {
  await_clock(path);
  const struct stat before = status_of(path);
  REQUIRE(content.size() == static_cast<size_t>(before.st_size));
  switch (change) {
    case Change::kReplaced:
      write_over(path + ".new", content);
      set_modified(path + ".new", before.st_mtim);
      std::filesystem::rename(path + ".new", path);
      break;
    case Change::kRewritten:
      write_over(path, content);
      set_modified(path, before.st_mtim);
      break;
    case Change::kTruncated: {
      std::ifstream file(path, std::ios::binary);
      const std::string own((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      write_over(path, own, true);
      set_modified(path, before.st_mtim);
      break;
    }
    case Change::kShortened:
      REQUIRE(::truncate(path.c_str(), before.st_size - 1) == 0);
      break;
    case Change::kAppended:
      std::ofstream(path, std::ios::binary | std::ios::app) << '\n';
      break;
    case Change::kModeAlone:
      REQUIRE(::chmod(path.c_str(), before.st_mode ^ 0040) == 0);
      break;
  }
}

}  // namespace spdld::test
