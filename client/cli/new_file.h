// A file that a command writes. A regular file is written beside its place, and is there whole or not at all: the place
// that a symbolic link leads to, so that the link stays. A pipe, a terminal or a device, such as
// /dev/stdout and /dev/null, is written into, and stays. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proto/unique_fd.h"

namespace spdld::cli {

// Every call throws Failure where the file can't be written.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();  // leaves no part of a regular file behind, where finish() was not called
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  void finish();
  // It is the same thing as the standard output, where messages would stand among what is written.
  bool is_stdout() const;

 private:
  [[noreturn]] void fail() const;
  // Follows links to the place, or to the open file of this process that the path stands for.
  std::optional<int> followed();
  void open_beside();
  void open_in_place(int fd);

  const std::string path_;     // as it was given, for messages
  std::string place_;          // where links lead
  std::string being_written_;  // beside the place; empty: the file is written in place
  UniqueFd fd_;
};

}  // namespace spdld::cli
