// The files beside the data set that an operation reads while a pipeline is set up, such as noises that it mixes into
// sounds. An operation knows this interface alone; where files may lie is for the implementation to say.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace spdld {

class SideFiles {
 public:
  // `path` is the file's own; the bytes are borrowed for the call.
  using See = std::function<void(const std::string& path, std::span<const uint8_t> bytes)>;

  virtual ~SideFiles() = default;
  // Reads the file at the absolute `path`; or, where a folder is there, each file in it and in its folders whose name
  // ends in one of `endings` ("wav, flac", in any case), in the order of the paths' bytes. Links are followed, and
  // names that begin with a dot are left out. Throws SetupError: a file or folder that can't be read or may not be, too
  // many files, a stop.
  virtual void read(const std::string& path, const std::string& endings, const See& see) = 0;
};

}  // namespace spdld
