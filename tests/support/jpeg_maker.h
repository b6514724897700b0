// Makes JPEGs for tests: photo-like content (soft shapes, edges and noise) that depends on the seed alone. Any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace spdld::test {

enum class Subsampling : uint8_t { k444, k422, k420, k440, k411 };

struct JpegOptions {
  int quality = 85;
  Subsampling subsampling = Subsampling::k420;
  bool grey = false;
  bool cmyk = false;  // four components as Adobe stores them, inverted; subsampling is not used
  bool progressive = false;
  bool unfinished = false;      // progressive, without its last refinement scans: decoders smooth such pictures
  bool separate_scans = false;  // baseline, a scan for each component
  int restart_interval = 0;     // in MCUs; 0: none
  int exif_orientation = 0;     // 1 to 8; 0: no EXIF
  bool exif_big_endian = true;
  uint32_t seed = 1;
};

std::vector<uint8_t> make_jpeg(int width, int height, const JpegOptions& options = {});

// The picture that make_jpeg compresses: interleaved, `channels` bytes a pixel.
std::vector<uint8_t> make_pixels(int width, int height, int channels, uint32_t seed);

// A decoding of the whole picture by the plain sequence of libjpeg's calls, as stored, to interleaved RGB (CMYK: the
// four components as they come). Empty when libjpeg reports an error.
std::vector<uint8_t> decode_plainly(const std::vector<uint8_t>& jpeg, int& width, int& height);

}  // namespace spdld::test
