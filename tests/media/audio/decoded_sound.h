// The whole sound of a file, decoded by the room and by the ffmpeg program.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/signal/resampler.h"
#include "tests/media/audio/sounds.h"
#include "tests/support/rounds.h"

namespace spdld::test {

using Samples = std::vector<float>;  // interleaved

// Rising tones, coded by the ffmpeg program.
inline std::string coded(const std::string& ending, const std::string& arguments, int channels = 2, double seconds = 2,
                         int rate_hz = 44'100) {
  const std::string wav = wav_of(rising_tones(rate_hz, channels, seconds), rate_hz, channels);
  std::string file = by_ffmpeg(wav, "wav", arguments, ending);
  REQUIRE(!file.empty());
  return file;
}

// Decodes all of a file's sound, and looks at random ranges of it, also by an index that was kept.
class Decoded {
 public:
  explicit Decoded(const std::string& file) : file_(file) {
    auto index = ffmpeg::index_audio(bytes_of(file_));
    if (!index) FAIL(index.error().message);
    index_ = std::move(*index);
    samples = range(0, index_.samples);
    look_at_ranges();
  }

  const ffmpeg::AudioIndex& index() const { return index_; }
  size_t count() const { return index_.samples; }
  Samples samples;

 private:
  Samples range(uint64_t first, uint64_t count) {
    const auto channels = static_cast<size_t>(index_.channels);
    Samples planes(count * channels), all(count * channels);
    const Status status = decoder_.decode(index_, bytes_of(file_), first, count, planes.data(), count);
    if (!status) FAIL(status.error().message);
    for (size_t i = 0; i < all.size(); ++i) all[i] = planes[i % channels * count + i / channels];
    return all;
  }

  void look_at_ranges() {
    const std::string packed = ffmpeg::packed(index_);
    auto kept = ffmpeg::unpacked_audio(bytes_of(packed));
    REQUIRE(kept);
    CHECK(ffmpeg::packed(*kept) == packed);
    index_ = std::move(*kept);
    std::mt19937_64 random(1);
    const auto channels = static_cast<ptrdiff_t>(index_.channels);
    int wrong = 0;
    for (int i = 0; i < rounds(40); ++i) {
      const uint64_t first = random() % index_.samples;
      const uint64_t count = 1 + random() % std::min<uint64_t>(index_.samples - first, 6000);
      const Samples some = range(first, count);
      wrong += std::equal(some.begin(), some.end(), samples.begin() + static_cast<ptrdiff_t>(first) * channels) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }

  const std::string file_;
  ffmpeg::AudioDecoder decoder_{{}};
  ffmpeg::AudioIndex index_;
};

inline Samples joined(std::vector<Samples> parts) {
  Samples all;
  for (const Samples& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline bool is_same(const Samples& a, const Samples& b) { return a == b; }  // without the samples in the message

inline void check_as_by_ffmpeg(const std::string& file, const std::string& ending) {
  const Samples whole = decoded_by_ffmpeg(file, ending);
  REQUIRE(!whole.empty());
  const Decoded decoded(file);
  CHECK(decoded.samples.size() == whole.size());
  CHECK(is_same(decoded.samples, whole));
}

// As the resampler makes them of the link alone.
inline Samples resampled(const Samples& samples, int channels, uint64_t from_hz, uint64_t to_hz) {
  const audio::Resampler resampler(from_hz, to_hz);
  const auto many = static_cast<size_t>(channels);
  const size_t count = samples.size() / many, outputs = resampler.outputs(count);
  Samples all(outputs * many), in(count), out(outputs);
  ByteBuffer memory;
  for (size_t c = 0; c < many; ++c) {
    for (size_t i = 0; i < count; ++i) in[i] = samples[i * many + c];
    resampler.run(in, 0, 0, out, memory);
    for (size_t i = 0; i < outputs; ++i) all[i * many + c] = out[i];
  }
  return all;
}

}  // namespace spdld::test
