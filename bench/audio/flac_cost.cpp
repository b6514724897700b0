// The cost of decoding FLAC, by own code and by libavcodec.
//
//   flac_cost FOLDER [TIMES]
//
// The program reads every FOLDER/**/*.flac into memory, and decodes each of them TIMES (10) times by own code and by
// libavcodec, in turns: to channels, and to the mean of all channels. It prints the CPU time of a sample of a channel,
// how the two compare, and how many of the packets own code decoded. Exit code 1: the two gave other samples.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"

using namespace spdld;

namespace {

double cpu_ns() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Sound {
  std::vector<uint8_t> file;
  ffmpeg::AudioIndex index;

  uint64_t numbers() const { return index.samples * static_cast<uint64_t>(index.channels); }
};

std::vector<Sound> read_sounds(const char* folder) {
  std::vector<Sound> sounds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".flac") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<uint8_t> file{std::istreambuf_iterator<char>(in), {}};
    auto index = ffmpeg::index_audio(file);
    if (index) sounds.push_back({std::move(file), std::move(*index)});
  }
  return sounds;
}

class Comparison {
 public:
  Comparison(const std::vector<Sound>& sounds, bool is_mean) : sounds_(sounds), is_mean_(is_mean) {}

  // Prints a line. False: the samples differ.
  bool run(int times) {
    std::array<double, 2> least_ns{};
    uint64_t numbers = 0;
    for (const Sound& sound : sounds_) {
      std::array<double, 2> of_sound_ns = {1e18, 1e18};
      for (int i = 0; i < times; ++i)
        for (size_t by = 0; by < 2; ++by) of_sound_ns[by] = std::min(of_sound_ns[by], decode(sound, by));
      for (size_t by = 0; by < 2; ++by) least_ns[by] += of_sound_ns[by];
      numbers += sound.numbers();
      if (samples_[0] != samples_[1]) return false;
    }
    const auto count = static_cast<double>(numbers);
    std::printf(
        "%-8s  own %6.2f ns a sample  libavcodec %6.2f  ratio %5.3f  own packets %5.1f %%\n",
        is_mean_ ? "mean" : "channels", least_ns[0] / count, least_ns[1] / count, least_ns[0] / least_ns[1],
        100 * static_cast<double>(decoders_[0].own_packets()) / static_cast<double>(decoders_[0].packets_sent()));
    return true;
  }

 private:
  double decode(const Sound& sound, size_t by) {
    const uint64_t count = sound.index.samples;
    std::vector<float>& to = samples_[by];
    to.resize(is_mean_ ? count : sound.numbers());
    const double begin_ns = cpu_ns();
    const Status done = is_mean_ ? decoders_[by].decode_mean(sound.index, sound.file, 0, count, to.data())
                                 : decoders_[by].decode(sound.index, sound.file, 0, count, to.data(), count);
    const double end_ns = cpu_ns();
    if (!done) std::fill(to.begin(), to.end(), 0.0f);
    return end_ns - begin_ns;
  }

  const std::vector<Sound>& sounds_;
  const bool is_mean_;
  std::array<ffmpeg::AudioDecoder, 2> decoders_{ffmpeg::AudioDecoder({}), ffmpeg::AudioDecoder({}, true)};
  std::array<std::vector<float>, 2> samples_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: flac_cost FOLDER [TIMES]\n", stderr);
    return 2;
  }
  ffmpeg::load_libraries();
  const int times = argc > 2 ? std::atoi(argv[2]) : 10;
  const std::vector<Sound> sounds = read_sounds(argv[1]);
  for (const bool is_mean : {false, true}) {
    if (Comparison(sounds, is_mean).run(times)) continue;
    std::fputs("own code and libavcodec gave other samples\n", stderr);
    return 1;
  }
  return 0;
}
