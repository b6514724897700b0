// A temporary folder that is removed with its owner.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace spdld::test {

// Writes a file with this text, and the folders that it lies in where they are missing.
inline void write_file(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "spdld-test-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::filesystem::filesystem_error("mkdtemp", name, std::error_code(errno, std::generic_category()));
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Writes a file with this text into the folder; returns its path.
  std::string write(const std::string& name, std::string_view text) const {
    const auto file = path_ / name;
    write_file(file, text);
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace spdld::test
