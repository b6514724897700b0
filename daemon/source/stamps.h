// The states of files and folders with their times of change, to see later whether a listing still holds. Filled by one
// thread; then constant.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spdld::source {

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
    int64_t changed_s, changed_ns;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Stamp {
    std::string path;
    State state;
  };
  static State of(const struct stat& status) {
    return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }

  std::vector<Stamp> stamps_;
};

}  // namespace spdld::source
