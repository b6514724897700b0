// The states of files and folders with their times of change, to see later whether a listing still holds. Filled by one
// thread; then constant.
//
// A program that writes a file anew can set the time of modification back (cp -p and rsync do so). It cannot set the
// time of the status change, so that time is looked at as well. A chmod counts as a change for this reason.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spdld::source {

// A time of a file: ns since 1970.
inline int64_t time_ns(const struct timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class Stamps {
 public:
  void add(const std::string& path, const struct stat& status) { stamps_.push_back({path, of(status)}); }
  void add_all(Stamps&& others) {
    stamps_.insert(stamps_.end(), std::make_move_iterator(others.stamps_.begin()),
                   std::make_move_iterator(others.stamps_.end()));
  }
  // Asks the file system about each: some microseconds a path, longer on a network file system.
  bool unchanged(const std::string& folder = {}) const {
    for (const Stamp& stamp : stamps_) {
      struct stat status;
      if (::stat((folder + stamp.path).c_str(), &status) != 0 || of(status) != stamp.state) return false;
    }
    return true;
  }

 private:
  struct State {
    dev_t device;
    ino_t inode;
    off_t size;
    int64_t changed_ns, status_changed_ns;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Stamp {
    std::string path;
    State state;
  };
  static State of(const struct stat& status) {
    return {status.st_dev, status.st_ino, status.st_size, time_ns(status.st_mtim), time_ns(status.st_ctim)};
  }

  std::vector<Stamp> stamps_;
};

}  // namespace spdld::source
