// Listings that outlive the daemon: a folder has one file for each source, written whole (a temporary file, then a
// rename) after a listing, and read before the next. A file that is damaged, foreign or of another version counts as
// absent: a listing never depends on it. At most kKeptFilesMax files stay: the files that were used last.
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

#include "daemon/base/formats/kept_bytes.h"

namespace spdld::source {

inline constexpr size_t kKeptFilesMax = 64;

// One thread.
class KeptFile {
 public:
  // `key` names the source and how it is listed. Where `folder` is empty nothing is kept.
  KeptFile(std::filesystem::path folder, std::string key);

  bool is_on() const { return !folder_.empty(); }
  // The payload, which lives as long as this object; empty where there is no usable payload.
  std::string_view read();
  // Writes a payload that consists of the parts, one after the other. Returns why it could not be written, or an empty
  // text. The file is not flushed to the disk: a power cut may damage it, which costs one listing.
  std::string write(const std::vector<std::string_view>& parts);
  // Marks the file as used now, so that it counts as young.
  void touch();

 private:
  std::string header() const;
  void remove_oldest() const;

  std::filesystem::path folder_, path_;
  std::string key_;
  std::string bytes_;  // of the file
};

// The state of a folder or archive when it was read. It has the time of the last status change too, since that can't be
// set back. It lacks the device, whose number may change with a restart.
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

// Whether a later change would show as another state, for a file that was looked at not before `now_ns`. File systems
// count time in steps of up to two seconds: a file that changed in this step or the last may change again within the
// step. A change sets both times, but a program can set the time of modification back. Where the time of the status
// change counts whole seconds, that time alone decides for this reason.
bool is_settled(const KeptState& state, int64_t now_ns);

}  // namespace spdld::source
