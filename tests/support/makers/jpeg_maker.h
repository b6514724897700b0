// Makes JPEGs for tests: photo-like content (soft shapes, edges and noise) that depends on the seed alone. Any thread.
#pragma once

#include <cstddef>
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
  int progression = 0;          // of a progressive picture: 0: libjpeg's own; 1: no bit left to later scans; 2: DC by
                                // component, all bands left and refined twice; 3: many narrow bands, chroma first
  bool separate_scans = false;  // baseline, a scan for each component
  bool arithmetic = false;      // coded arithmetically, not by Huffman's codes
  bool optimized = false;       // with Huffman codes of its own
  bool flat = false;            // all white
  int restart_interval = 0;     // in MCUs; 0: none
  int exif_orientation = 0;     // 1 to 8; 0: no EXIF
  bool exif_big_endian = true;
  std::vector<Sampling> sampling = {};  // of each component, instead of subsampling; empty: subsampling counts
  uint32_t seed = 1;
};

// Options for one of the ways in which JPEGs are coded: 0 colour, baseline; 1 grey; 2 progressive; 3 with restarts; 4 a
// scan for each component; 5 progressive and unfinished.
constexpr int kCodings = 6;
JpegOptions coded(int coding, Subsampling subsampling);

// The kinds of pictures that have planes.
struct PlanesKind {
  bool grey;
  Subsampling subsampling;
};
inline constexpr PlanesKind kPlanesKinds[] = {{false, Subsampling::k444},
                                              {false, Subsampling::k422},
                                              {false, Subsampling::k420},
                                              {false, Subsampling::k440},
                                              {true, Subsampling::k444}};

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
  int at(int x, int y) const {
    return samples[static_cast<size_t>(stride) * static_cast<size_t>(y) + static_cast<size_t>(x)];
  }
};

// libjpeg's raw output of each component, by the plain sequence of its calls; with `reduction` (1, 2, 4 or 8) at 1 /
// reduction of its size. Empty when libjpeg reports an error.
std::vector<RawPlane> raw_plainly(const std::vector<uint8_t>& jpeg, int reduction = 1);

}  // namespace spdld::test
