// Makes chains of operations on pictures, and pixels for them.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "tests/support/picture_chain.h"

namespace spdld::test {

// The output whose operations are written as in a pipeline file, after decode-image, and `further` lines behind them.
inline config::OutputSpec output_of(const std::string& ops, const std::string& decode = "",
                                    const std::string& further = "") {
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"image\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\"" +
          decode + " }, " + ops + "]\n" + further,
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return spec.value->outputs.front();
}

inline PictureChain program_of(const std::string& ops) { return PictureChain(output_of(ops)); }

inline PictureChain grey_program_of(const std::string& ops) {
  return PictureChain(output_of(ops, ", colours = \"grey\""));
}

inline PixelRows noise(const Size& size, uint32_t seed) {
  std::mt19937 random(seed);
  PixelRows rows;
  rows.covers = {0, 0, size.width, size.height};
  rows.picture = size;
  rows.stride_bytes = static_cast<size_t>(size.width) * 3;
  const size_t bytes = rows.stride_bytes * static_cast<size_t>(size.height) + PixelRows::kSlackBytes;
  uint8_t* to = rows.memory.resize(bytes);
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(random() >> 24);
  return rows;
}

// The part of `whole` that `box` covers, in memory of its own: what a decoder gives that decodes no more than that.
inline PixelRows part_of(const PixelRows& whole, const Box& box) {
  const int pixel = whole.format.pixel_bytes();
  PixelRows rows;
  rows.format = whole.format;
  rows.covers = box;
  rows.picture = whole.picture;
  rows.stride_bytes = static_cast<size_t>(box.width) * static_cast<size_t>(pixel);
  uint8_t* to = rows.memory.resize(rows.stride_bytes * static_cast<size_t>(box.height) + PixelRows::kSlackBytes);
  std::memset(to, 0xAA, rows.memory.size());
  for (int y = 0; y < box.height; ++y) {
    std::memcpy(to + rows.stride_bytes * static_cast<size_t>(y),
                whole.row(box.y + y) + pixel * (box.x - whole.covers.x), rows.stride_bytes);
  }
  return rows;
}

struct Rendered {
  image::Geometry geometry;
  std::vector<uint8_t> tensor;
};

// `whole` through the program, given no more than the part that it asks for.
inline Rendered render(const PictureChain& program, const PixelRows& whole, const Draws& draws = {}) {
  Rendered rendered;
  program.resolve(whole.picture, draws, rendered.geometry);
  constexpr size_t kGuard = 128;
  rendered.tensor.assign(program.tensor().bytes() + kGuard, 0x5C);
  image::Scratch scratch;
  program.render(part_of(whole, rendered.geometry.decoded), rendered.geometry, scratch, rendered.tensor.data());
  for (size_t i = 0; i < kGuard; ++i) {
    if (rendered.tensor[program.tensor().bytes() + i] != 0x5C) FAIL("written behind the tensor's end");
  }
  rendered.tensor.resize(program.tensor().bytes());
  return rendered;
}

}  // namespace spdld::test
