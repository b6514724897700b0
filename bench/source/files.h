// Data sets that a benchmark makes and removes.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"

namespace spdld::bench {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "spdld-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// `classes` folders of `files` files of `bytes` bytes each, named as ImageNet's are.
inline void make_image_folder(const std::filesystem::path& root, unsigned classes, unsigned files, size_t bytes) {
  const std::string content(bytes, 'p');
  for (unsigned i = 0; i < classes; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "n%08u", 1440764 + i * 13);
    const std::filesystem::path folder = root / name;
    std::filesystem::create_directories(folder);
    for (unsigned file = 0; file < files; ++file) {
      std::snprintf(name, sizeof name, "n%08u_%u.JPEG", 1440764 + i * 13, file * 7919 % 1000003);
      std::ofstream(folder / name, std::ios::binary) << content;
    }
  }
}

// A tar archive (POSIX.1-2017, "ustar Interchange Format") of `files` samples, 000000000 and on, with a member of
// `bytes` bytes for each extension.
inline void make_archive(const std::filesystem::path& path, unsigned files, size_t bytes,
                         const std::vector<const char*>& extensions = {"jpg"}) {
  std::ofstream out(path, std::ios::binary);
  const std::string content(bytes, 'p'), padding((512 - bytes % 512) % 512, '\0');
  for (unsigned member = 0; member < files * extensions.size(); ++member) {
    std::string header(512, '\0');
    const auto put = [&](size_t at, const char* format, auto value) {
      char text[32];
      const int length = std::snprintf(text, sizeof text, format, value);
      header.replace(at, static_cast<size_t>(length), text, static_cast<size_t>(length));
    };
    put(0, "%09u.", static_cast<unsigned>(member / extensions.size()));
    put(10, "%s", extensions[member % extensions.size()]);
    put(124, "%011zo", bytes);
    put(148, "%s", "        ");  // the checksum's own bytes count as spaces
    put(156, "%s", "0");
    header.replace(257, 8, std::string_view("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, "%06o", sum);
    header[154] = '\0';
    out << header << content << padding;
  }
  out << std::string(1024, '\0');
}

inline std::unique_ptr<source::Listing> list(const std::string& type, const std::filesystem::path& uri,
                                             const std::filesystem::path& kept = {}, source::KeptUse* use = nullptr) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {uri.string()};
  return source::open_listing(spec, {}, {}, kept, use);
}

}  // namespace spdld::bench
