// Measures the stages of decoding beside bare libjpeg. One iteration is the whole corpus; `a_picture` is the CPU time
// of one picture. The differences are small, so quote medians of repetitions (--benchmark_repetitions=9
// --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/decode/bare_crop.h"
#include "bench/decode/corpus.h"
#include "config/checks/load.h"
#include "daemon/media/image/codecs/image_decoder.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/picture_chain.h"

namespace {

using namespace spdld;

// Runs `stage` on every picture; a decoder's error would make the figure meaningless.
template <typename Stage>
void measure(benchmark::State& state, Stage stage) {
  const auto& photos = bench::corpus();
  for (auto _ : state) {
    for (size_t i = 0; i < photos.size(); ++i) {
      if (!stage(photos[i], i)) return state.SkipWithError("a picture could not be decoded");
    }
  }
  state.counters["a_picture"] = benchmark::Counter(
      static_cast<double>(photos.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

Box whole(const bench::Photo& photo) { return {0, 0, photo.size.width, photo.size.height}; }

// The rows that a resampling reads, in its order.
uint64_t read_rows(const PixelRows& rows) {
  uint64_t sum = 0;
  for (int y = rows.covers.y; y < rows.covers.y + rows.covers.height; ++y) {
    const uint8_t* row = rows.row(y);
    for (int i = 0; i < rows.covers.width * 3; ++i) sum += row[i];
  }
  return sum;
}

void header(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  measure(state, [&](const bench::Photo& photo, size_t) { return bool(decoder->open(photo.jpeg, true)); });
}

void decode_rows(benchmark::State& state, bool all, bool read) {
  const auto decoder = image::make_jpeg_decoder();
  PixelRows rows;
  measure(state, [&](const bench::Photo& photo, size_t) {
    if (!decoder->open(photo.jpeg, true) || !decoder->decode(all ? whole(photo) : photo.box, rows)) return false;
    if (read) benchmark::DoNotOptimize(read_rows(rows));
    return true;
  });
}

void bare(benchmark::State& state, bool all) {
  bench::BareDecoder decoder;
  measure(state, [&](const bench::Photo& photo, size_t) {
    decoder.decode(photo, all ? whole(photo) : photo.box);
    return true;
  });
}

uint8_t* aligned(uint8_t* memory) {
  const auto past = reinterpret_cast<uintptr_t>(memory) % PlanesLayout::kAlignment;
  return past == 0 ? memory : memory + (PlanesLayout::kAlignment - past);
}

// Planes of a box, which are used at once: into the same memory again and again.
void planes_box(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  ByteBuffer memory;
  measure(state, [&](const bench::Photo& photo, size_t) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return false;
    const size_t bytes = PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment;
    return bool(decoder->decode_planes(photo.box, aligned(memory.resize(bytes))));
  });
}

// The same by indexes that were made before, of bytes that are cold.
void planes_box_indexed(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  ByteBuffer memory;
  std::vector<std::vector<uint8_t>> indexes;
  uint64_t jpeg_bytes = 0, index_bytes = 0;
  for (const auto& photo : bench::corpus()) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return state.SkipWithError("no planes");
    indexes.emplace_back(decoder->index_bytes());
    jpeg_bytes += photo.jpeg.size();
    index_bytes += indexes.back().size();
    const size_t bytes = PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment;
    if (!decoder->decode_and_index({0, 0, 1, 1}, aligned(memory.resize(bytes)), indexes.back()))
      return state.SkipWithError("a picture could not be decoded");
  }
  measure(state, [&](const bench::Photo& photo, size_t i) {
    if (!decoder->open_indexed(photo.jpeg, indexes[i], false, false, {}) || !decoder->planes()) return false;
    const size_t bytes = PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment;
    return bool(decoder->decode_planes(photo.box, aligned(memory.resize(bytes))));
  });
  state.counters["bytes"] = 1 + static_cast<double>(index_bytes) / static_cast<double>(jpeg_bytes);
}

// The same by coefficients that were packed before.
void planes_box_packed(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  ByteBuffer memory;
  std::vector<std::vector<uint8_t>> packed;
  std::vector<PlanesShape> shapes;
  uint64_t jpeg_bytes = 0, packed_bytes = 0;
  for (const auto& photo : bench::corpus()) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return state.SkipWithError("no planes");
    shapes.push_back(*decoder->planes());
    std::span<const uint8_t> made;
    const size_t bytes = PlanesLayout(shapes.back()).bytes + PlanesLayout::kAlignment;
    if (!decoder->decode_and_pack(aligned(memory.resize(bytes)), made) || made.empty())
      return state.SkipWithError("a picture could not be packed");
    packed.emplace_back(made.begin(), made.end());
    jpeg_bytes += photo.jpeg.size();
    packed_bytes += made.size();
  }
  measure(state, [&](const bench::Photo& photo, size_t i) {
    if (!decoder->open_packed(packed[i], shapes[i])) return false;
    const size_t bytes = PlanesLayout(shapes[i]).bytes + PlanesLayout::kAlignment;
    return bool(decoder->decode_planes(photo.box, aligned(memory.resize(bytes))));
  });
  state.counters["bytes"] = static_cast<double>(packed_bytes) / static_cast<double>(jpeg_bytes);
}

// The first epoch of that: all of the picture, and its coefficients on the way.
void planes_packing(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  ByteBuffer memory;
  measure(state, [&](const bench::Photo& photo, size_t) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return false;
    std::span<const uint8_t> packed;
    const size_t bytes = PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment;
    return bool(decoder->decode_and_pack(aligned(memory.resize(bytes)), packed));
  });
}

// The first epoch with an index: a box, and the index on the way.
void planes_box_indexing(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  ByteBuffer memory;
  std::vector<uint8_t> index;
  measure(state, [&](const bench::Photo& photo, size_t) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return false;
    index.resize(decoder->index_bytes());
    const size_t bytes = PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment;
    return bool(decoder->decode_and_index(photo.box, aligned(memory.resize(bytes)), index));
  });
}

// Pictures four times as large as what is wanted of them: their planes, plain or reduced by two as `fast` has it, and
// resampled from there.
struct Large {
  std::vector<uint8_t> jpeg;
  Size size;
};

const std::vector<Large>& large_pictures() {
  static const std::vector<Large> pictures = [] {
    std::vector<Large> made;
    for (uint32_t i = 0; i < 4; ++i) {
      test::JpegOptions options;
      options.seed = i;
      made.push_back({test::make_jpeg(896, 896, options), {896, 896}});
    }
    return made;
  }();
  return pictures;
}

void large(benchmark::State& state, const char* decode_options) {
  const auto spec = config::load_pipeline_toml(
      std::string("name = \"bench\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n"
                  "[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\"") +
          decode_options + " }, { op = \"resize\", size = [224, 224] }]\n",
      "bench.toml");
  const test::PictureChain program(spec.value->outputs.front());
  const auto decoder = image::make_jpeg_decoder();
  image::Geometry geometry;
  image::Scratch scratch;
  ByteBuffer memory;
  std::vector<uint8_t> tensor(program.tensor().bytes());
  const auto& pictures = large_pictures();
  for (auto _ : state) {
    for (const Large& picture : pictures) {
      if (!decoder->open(picture.jpeg, true)) return state.SkipWithError("a picture could not be opened");
      program.resolve(picture.size, {}, geometry);
      const auto shape = decoder->planes(geometry.reduction);
      if (!shape) return state.SkipWithError("a picture has no planes");
      const size_t bytes = PlanesLayout(*shape).bytes;
      uint8_t* planes = aligned(memory.resize(bytes + PlanesLayout::kAlignment));
      PlanesView view;
      if (!decoder->decode_planes(geometry.decoded, geometry.reduction, planes) || !view_planes(planes, bytes, view)) {
        return state.SkipWithError("a picture could not be decoded");
      }
      program.render(view, geometry, scratch, tensor.data());
    }
  }
  state.counters["a_picture"] =
      benchmark::Counter(static_cast<double>(pictures.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Planes that are kept: each picture's memory is cold, as it is in a cache of gigabytes.
void planes_kept(benchmark::State& state) {
  const auto decoder = image::make_jpeg_decoder();
  std::vector<ByteBuffer> kept;
  for (const auto& photo : bench::corpus()) {
    if (!decoder->open(photo.jpeg, false) || !decoder->planes()) return state.SkipWithError("no planes");
    kept.emplace_back().resize(PlanesLayout(*decoder->planes()).bytes + PlanesLayout::kAlignment);
  }
  measure(state, [&](const bench::Photo& photo, size_t i) {
    return decoder->open(photo.jpeg, false) && decoder->decode_planes(aligned(kept[i].data()));
  });
}

BENCHMARK(header)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, box, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_rows, box, false, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_rows, box_and_read, false, true)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_box)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_box_indexing)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_box_indexed)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_box_packed)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_packing)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large, plain, "")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large, fast, ", fast = true")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bare, whole, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_rows, whole, true, false)->Unit(benchmark::kMillisecond);
BENCHMARK(planes_kept)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
