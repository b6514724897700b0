// libjpeg's raw output by the plain sequence of its calls, and JPEGs whose components have any sampling. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace spdld::test {

struct RawPlane {
  int stride = 0;                // whole blocks
  std::vector<uint8_t> samples;  // whole rows of MCUs
};

// Of each component; empty when libjpeg reports an error.
std::vector<RawPlane> raw_plainly(const std::vector<uint8_t>& jpeg);

struct Sampling {
  int across, down;
};

// Like make_jpeg; `sampling` has one element (grey) or three.
std::vector<uint8_t> make_sampled_jpeg(int width, int height, const std::vector<Sampling>& sampling, uint32_t seed);

}  // namespace spdld::test
