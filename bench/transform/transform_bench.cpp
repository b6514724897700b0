// Measures a picture's way from decoded rows, or from planes (4:2:0), to its tensor. The argument is the side of the
// box; 0 is a random-resized-crop of 530 x 400 pixels. Warm: one picture and one tensor, both in the CPU's caches.
// Cold: many pictures and tensors take turns, so that they leave the CPU's caches, as in a running daemon.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "tests/support/picture_chain.h"

namespace {

using namespace spdld;

constexpr size_t kColdBytes = size_t{160} << 20;  // of all pictures, and of all tensors

struct Case {
  const char* dtype;
  bool planes, cold;
  const char* filter = "bilinear";
};

test::PictureChain train_program(const std::string& first, const Case& how) {
  const auto spec = config::load_pipeline_toml(
      "name = \"bench\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = "
      "\"image\"\n"
      "from = \"image\"\nops = [{ op = \"decode-image\" }, { op = \"" +
          first + "\", size = [224, 224], filter = \"" + how.filter +
          "\" }, { op = \"horizontal-flip\" },"
          "{ op = \"normalize\", mean = [0.5, 0.5, 0.5], std = [0.2, 0.2, 0.2], dtype = \"" +
          how.dtype + "\" }]\n",
      "bench.toml");
  return test::PictureChain(spec.value->outputs.front());
}

void fill(uint8_t* to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
}

// Pieces of memory of the same size that are used in turn; in huge pages where there are any, as the node's cache is.
class Turns {
 public:
  Turns(size_t bytes, bool cold)
      : stride_((bytes + 127) / 64 * 64), count_(cold ? std::max<size_t>(1, kColdBytes / bytes) : 1) {
    constexpr size_t kHugePage = 2 << 20;
    const size_t all = (stride_ * count_ + kHugePage - 1) / kHugePage * kHugePage;
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(kHugePage, all)));
    madvise(memory_.get(), all, MADV_HUGEPAGE);
    fill(memory_.get(), all);
  }
  uint8_t* next() { return memory_.get() + stride_ * (turn_++ % count_); }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  size_t stride_, count_, turn_ = 0;
  std::unique_ptr<uint8_t, Free> memory_;
};

void render(benchmark::State& state, Case how) {
  const auto side = static_cast<int>(state.range(0));
  const Size picture = side == 0 ? Size{530, 400} : Size{side, side};
  const PlanesShape shape{picture, 2, 2, false};
  const PlanesLayout layout(shape);
  PixelRows rows;
  rows.covers = {0, 0, picture.width, picture.height};
  rows.picture = picture;
  rows.stride_bytes = static_cast<size_t>(picture.width) * 3;
  const size_t row_bytes = rows.stride_bytes * static_cast<size_t>(picture.height) + PixelRows::kSlackBytes;
  const auto program = train_program(side == 0 ? "random-resized-crop" : "resize", how);
  // Rows are always warm: a decoder has just written them.
  fill(rows.memory.resize(row_bytes), row_bytes);
  Turns pictures(layout.bytes, how.cold), tensors(program.tensor().bytes(), how.cold);
  image::Scratch scratch;
  image::Geometry geometry;
  uint64_t sample = 0;
  for (auto _ : state) {
    program.resolve(picture, {1, 1, sample++}, geometry);
    uint8_t* tensor = tensors.next();
    if (how.planes) {
      uint8_t* memory = pictures.next();
      PlanesView view{shape, {}, layout.stride_bytes};
      for (size_t i = 0; i < 3; ++i) view.plane[i] = memory + layout.offset[i];
      program.render(view, geometry, scratch, tensor);
    } else {
      program.render(rows, geometry, scratch, tensor);
    }
    benchmark::DoNotOptimize(tensor);
  }
}

void sides(benchmark::internal::Benchmark* bench) {
  for (const int side : {0, 120, 300, 600, 2000}) bench->Arg(side);
  bench->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(render, rows, Case{"float32", false, false})->Apply(sides);
BENCHMARK_CAPTURE(render, rows_cold, Case{"float32", false, true})->Apply(sides);
BENCHMARK_CAPTURE(render, planes, Case{"float32", true, false})->Apply(sides);
BENCHMARK_CAPTURE(render, planes_cold, Case{"float32", true, true})->Apply(sides);
BENCHMARK_CAPTURE(render, rows_bicubic, Case{"float32", false, false, "bicubic"})->Apply(sides);
BENCHMARK_CAPTURE(render, planes_bicubic, Case{"float32", true, false, "bicubic"})->Apply(sides);
BENCHMARK_CAPTURE(render, rows_float16, Case{"float16", false, true})->Arg(0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(render, planes_float16, Case{"float16", true, true})->Arg(0)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
