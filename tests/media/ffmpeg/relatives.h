// Small videos and sounds of many codecs, each with relatives that share its header and differ in what their packets
// hold: other settings of the encoder, files that were joined without encoding them anew, also ones of two sizes, MP4
// files whose parts have descriptions of their own, headers that are repeated in packets, files whose beginning or end
// is missing, and sounds one behind the other, with tags. Made by the ffmpeg program; codecs that it can't encode are
// left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spdld::test {

struct Relative {
  std::string name;  // "h264.1.mp4"
  std::string family;
  bool is_video;
  std::vector<uint8_t> bytes;
};

// Of the same family one behind the other. Throws std::runtime_error where the program fails.
std::vector<Relative> make_relatives(const std::filesystem::path& folder);

}  // namespace spdld::test
