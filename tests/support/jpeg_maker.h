// Makes JPEGs for tests: photo-like content (soft shapes, edges and noise) that depends on the seed alone. Any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace spdld::test {

enum class Subsampling : uint8_t { k444, k422, k420, k440, k411 };

struct Sampling {
  int across = 1, down = 1;  // JPEG's factors
};

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
  std::vector<Sampling> sampling = {};  // of each component, in the place of subsampling; empty: that
  uint32_t seed = 1;
};

std::vector<uint8_t> make_jpeg(int width, int height, const JpegOptions& options = {});

// The picture that make_jpeg compresses: interleaved, `channels` bytes a pixel.
std::vector<uint8_t> make_pixels(int width, int height, int channels, uint32_t seed);

// A decoding of the whole picture by the plain sequence of libjpeg's calls, as stored, to interleaved RGB (CMYK: the
// four components as they come). Empty when libjpeg reports an error.
std::vector<uint8_t> decode_plainly(const std::vector<uint8_t>& jpeg, int& width, int& height);

struct RawPlane {
  Sampling sampling;
  int width = 0, height = 0;     // of the samples that belong to the picture
  int stride = 0;                // whole blocks
  std::vector<uint8_t> samples;  // whole rows of MCUs
};

// libjpeg's raw output, of each component, by the plain sequence of its calls. Empty when libjpeg reports an error.
std::vector<RawPlane> raw_plainly(const std::vector<uint8_t>& jpeg);

}  // namespace spdld::test
