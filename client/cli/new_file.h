// A file that is written beside its path, and is there whole or not at all. One thread.
#pragma once

#include <string>
#include <string_view>

#include "proto/unique_fd.h"

namespace spdld::cli {

// Every call throws Failure where the file can't be written.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();  // leaves nothing behind, where finish() was not called
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail() const;

  const std::string path_, being_written_;
  UniqueFd fd_;
};

}  // namespace spdld::cli
