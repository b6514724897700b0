// Listings that outlive the daemon: one file a source in a folder, written whole (a temporary one, then a rename) after
// a listing, read before the next. What is damaged, foreign or of another version is as good as absent: a listing never
// depends on it. At most kKeptFilesMax files stay, those that were used last.
//
// A file: "spdldlst", the version (4 bytes, little-endian), the key's length (4 bytes) and the key, the payload, and
// the XXH3 (128 bits, as 32 hexadecimal digits) of all before. Its name is the XXH3 of the key, and ".listing".
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/kept_bytes.h"

namespace spdld::source {

inline constexpr size_t kKeptFilesMax = 64;

// One thread.
class KeptFile {
 public:
  // `key` says of which source and how. Where `folder` is empty nothing is kept.
  KeptFile(std::filesystem::path folder, std::string key);

  bool is_on() const { return !folder_.empty(); }
  // The payload, which lives as long as this; empty where there is none that can be used.
  std::string_view read();
  // The parts, one behind the other, are the payload from now on. Gives why it could not be written, or nothing. Not
  // flushed to the disk: after a power cut it may be damaged, which costs one listing.
  std::string write(const std::vector<std::string_view>& parts);
  // It was of use: it counts as young.
  void touch();

 private:
  std::string header() const;
  void remove_oldest() const;

  std::filesystem::path folder_, path_;
  std::string key_;
  std::string bytes_;  // of the file
};

// What a folder or archive was when it was read. The time of a change of its status is there too, since it can't be set
// back. Without the device, whose number may be another after a restart.
struct KeptState {
  uint64_t inode = 0, size = 0;
  int64_t changed_ns = 0, status_changed_ns = 0;
  friend bool operator==(const KeptState&, const KeptState&) = default;

  void write(KeptWriter& writer) const;
  static KeptState read(KeptReader& reader);
};
KeptState kept_state(const struct stat& status);

// Now, as file systems count: ns since 1970.
int64_t file_time_now_ns();

// Whether what is in this state, looked at not before `now_ns`, would show a later change by another state. File
// systems count time in steps of up to two seconds: what has changed in this one or the last may change again within
// it.
bool is_settled(const KeptState& state, int64_t now_ns);

}  // namespace spdld::source
