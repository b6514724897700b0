// The CPU time of a clip beside that of its decoding alone, on the same frames and in turns.
//
//   clip_cost FOLDER [CLIPS [TURNS]]
//
// The program reads every FOLDER/**/*.mp4 into memory, and draws CLIPS (4) clips of each: 16 frames that lie 4 frames
// apart, with one random-resized-crop to 224 x 224 and one flip, normalised to float32. Each clip is made TURNS (5)
// times by the whole chain, and as often in parts. The least time of each counts, since other work on the machine only
// adds to it. The program prints the means over all clips in CPU milliseconds.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/video/measured.h"
#include "config/checks/load.h"
#include "daemon/media/chain.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/node.h"

using namespace spdld;
using namespace spdld::bench;

namespace {

constexpr size_t kFrames = 16, kTensorBytes = kFrames * 3 * 224 * 224 * sizeof(float);
constexpr size_t kTensors = 8;  // more than any cache holds, as in a batch

void require(const Status& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

config::OutputSpec output() {
  const auto spec = config::load_pipeline_toml(
      "name = \"clips\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\n"
      "name = \"clip\"\nfrom = \"image\"\nops = [\n"
      "  { op = \"decode-video\", frames = 16, stride = 4, pick = \"random\", times = \"times\" },\n"
      "  { op = \"random-resized-crop\", size = [224, 224] }, { op = \"horizontal-flip\" },\n"
      "  { op = \"normalize\", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225], dtype = \"float32\", layout "
      "= "
      "\"NCHW\" } ]\n",
      "clip_cost");
  if (!spec) throw std::runtime_error(spec.sentences());
  return spec.value->outputs.front();
}

// Makes clips as a decode thread does.
class Maker {
 public:
  Maker()
      : output_(output()),
        followed_(config::follow(output_.ops, config::start_of(output_.ops))),
        chain_(output_.ops, followed_, "clip"),
        tensors_(kTensors * kTensorBytes) {}

  void make(const Bytes& file, uint64_t sample) {
    media::Field field{.bytes = file};
    uint8_t* const tensor = tensors_.data() + at_++ % kTensors * kTensorBytes;
    std::vector<media::TensorOut> out = {{.memory = tensor}, {.memory = reinterpret_cast<uint8_t*>(times_s_.data())}};
    const Draws draws{7, 0, sample};
    require(chain_.run({.bytes = field.bytes}, {sample, draws, workspace_, &field, out}));
  }

  // The numbers of the frames of the clip that was made last.
  std::vector<uint32_t> frames(const ffmpeg::VideoIndex& index) const {
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < index.frames.size(); ++i)
      if (std::find(times_s_.begin(), times_s_.end(), index.time_s(i) - index.time_s(0)) != times_s_.end())
        numbers.push_back(i);
    return numbers;
  }

 private:
  config::OutputSpec output_;
  config::Followed followed_;
  media::Chain chain_;
  media::Workspace workspace_;
  std::vector<uint8_t> tensors_;
  std::array<double, kFrames> times_s_{};
  size_t at_ = 0;
};

struct Cost {
  double chain = 1e9, decoding = 1e9, index = 1e9;  // ms
  void add(const Cost& other) {
    chain += other.chain;
    decoding += other.decoding;
    index += other.index;
  }
};

Cost cost_of(const Bytes& file, uint64_t sample, int turns, Maker& maker, ffmpeg::VideoDecoder& decoder) {
  const auto index = ffmpeg::index_video(file);
  if (!index) throw std::runtime_error(index.error().message);
  maker.make(file, sample);
  const std::vector<uint32_t> wanted = maker.frames(*index);
  Cost least;
  for (int i = 0; i < turns; ++i) {
    least.chain = std::min(least.chain, ms_of([&] { maker.make(file, sample); }));
    least.decoding = std::min(
        least.decoding, ms_of([&] {
          require(decoder.decode(*index, file, wanted, [](uint32_t, ffmpeg::VideoFrame&) { return Status(Done{}); }));
        }));
    least.index = std::min(least.index, ms_of([&] { (void)ffmpeg::index_video(file); }));
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "clip_cost FOLDER [CLIPS [TURNS]]\n");
    return 2;
  }
  ffmpeg::load_libraries();
  const int clips = argc > 2 ? std::atoi(argv[2]) : 4, turns = argc > 3 ? std::atoi(argv[3]) : 5;
  Maker maker;
  ffmpeg::VideoDecoder decoder({});
  Cost sum{0, 0, 0};
  uint64_t made = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.path().extension() != ".mp4") continue;
    const Bytes file = read(entry.path());
    for (int i = 0; i < clips; ++i) sum.add(cost_of(file, made++, turns, maker, decoder));
  }
  const auto of_all = static_cast<double>(made);
  std::printf(
      "a clip, the mean of %.0f: %.2f ms; decoding alone %.2f ms (the clip is %.3f of it), an index %.2f ms, "
      "pixels and all else %.2f ms; %.1f packets\n",
      of_all, sum.chain / of_all, sum.decoding / of_all, sum.chain / sum.decoding, sum.index / of_all,
      (sum.chain - sum.decoding - sum.index) / of_all, static_cast<double>(decoder.packets_sent()) / of_all / turns);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "clip_cost: %s\n", e.what());
  return 1;
}
