// A picture that the baseline decoder takes, as its header describes it (ITU-T T.81): one scan of all components,
// Huffman coding, 8 bits. Plain values; the code that fills them in has checked them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spdld::image::baseline {

inline constexpr int kBlockSide = 8;         // samples
inline constexpr size_t kBlockSamples = 64;  // of a block
inline constexpr size_t kComponentsMax = 3;  // grey, or luma and two of chroma
inline constexpr size_t kFactorMax = 4;      // of sampling
inline constexpr size_t kMcuBlocksMax = 10;  // T.81, B.2.3

// A code as a DHT segment has it: how many codes are of each length, and their symbols in the codes' order.
struct CodeLengths {
  std::array<uint8_t, 17> counts{};  // [length]; [0] is not used
  std::array<uint8_t, 256> symbols{};
  friend bool operator==(const CodeLengths&, const CodeLengths&) = default;
};

struct Component {
  int across = 1, down = 1;                     // blocks in an MCU
  int blocks_across = 0;                        // of the picture; an MCU at its right edge may have blocks beyond them
  std::array<uint16_t, kBlockSamples> steps{};  // of quantisation, row by row
  CodeLengths dc, ac;
  bool is_wanted = true;  // its samples are; else it is only read past
};

struct Frame {
  std::array<Component, kComponentsMax> component;  // in the order of the scan
  size_t components = 0;
  int mcus_across = 0, mcus_down = 0;
  uint32_t restart_interval = 0;  // MCUs; 0: no restart markers

  uint64_t mcus() const { return static_cast<uint64_t>(mcus_across) * static_cast<uint64_t>(mcus_down); }
  uint64_t blocks_in_row() const {  // of MCUs
    uint64_t blocks = 0;
    for (size_t c = 0; c < components; ++c) blocks += static_cast<uint64_t>(component[c].across * component[c].down);
    return blocks * static_cast<uint64_t>(mcus_across);
  }
};

}  // namespace spdld::image::baseline
