// Samples of PCM whose room in a WAVE file is wider than their bits: right, or refused by name.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"
#include "tests/media/audio/sounds.h"

namespace spdld::wave_format_test {
namespace {

constexpr int kRate_hz = 16'000;
constexpr uint32_t kPcm = 1, kFloat = 3;

struct WaveForm {
  const char* name;
  uint32_t kind;   // kPcm or kFloat
  uint32_t bits;   // as the header has it
  uint32_t bytes;  // of each sample in the file, whose value lies in the highest bits of them
  uint32_t valid;  // 0: the header has the old form; else that of WAVE_FORMAT_EXTENSIBLE
};

std::string number(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  return text;
}

// A sample as a number of so many bytes. Those of one byte have no sign.
std::string sample_of(float value, const WaveForm& kind) {
  if (kind.kind == kFloat && kind.bytes == 4) return {reinterpret_cast<const char*>(&value), 4};
  const auto wide = static_cast<double>(value);
  if (kind.kind == kFloat) return {reinterpret_cast<const char*>(&wide), 8};
  const auto all = static_cast<int64_t>(std::llround(std::ldexp(wide, 23))) << 40;  // of 64 bits
  const int64_t part = all >> (64 - 8 * kind.bytes);
  return number(static_cast<uint64_t>(kind.bytes == 1 ? part + 128 : part), static_cast<int>(kind.bytes));
}

std::string format_of(const WaveForm& kind, uint32_t channels, uint32_t block, uint32_t rate_bytes) {
  const bool is_extensible = kind.valid != 0;
  std::string format = number(is_extensible ? 0xFFFE : kind.kind, 2) + number(channels, 2) + number(kRate_hz, 4) +
                       number(rate_bytes, 4) + number(block, 2) + number(kind.bits, 2);
  if (is_extensible)
    format += number(22, 2) + number(kind.valid, 2) + number(channels == 1 ? 4 : 3, 4) + number(kind.kind, 2) +
              std::string("\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14);
  return format;
}

// A file whose sound is these samples, interleaved, behind a chunk of an odd length, and before one more.
std::string wave_of(const std::vector<float>& samples, const WaveForm& kind, uint32_t channels, uint32_t block = 0,
                    uint32_t rate_bytes = 0) {
  std::string data;
  for (const float sample : samples) data += sample_of(sample, kind);
  block = block == 0 ? channels * kind.bytes : block;
  const std::string format = format_of(kind, channels, block, rate_bytes == 0 ? kRate_hz * block : rate_bytes);
  const auto chunk = [](const std::string& name, const std::string& content) {
    return name + number(content.size(), 4) + content + std::string(content.size() % 2, '\0');
  };
  const std::string body = "WAVE" + chunk("note", "odd") + chunk("fmt ", format) + chunk("data", data) +
                           chunk("LIST", std::string(400, 'x'));
  return "RIFF" + number(body.size(), 4) + body;
}

// What the daemon decodes, interleaved.
std::vector<float> decoded(const std::string& file) {
  const auto index = ffmpeg::index_audio(test::bytes_of(file));
  REQUIRE(index);
  const auto channels = static_cast<size_t>(index->channels);
  std::vector<float> planes(index->samples * channels), samples(planes.size());
  ffmpeg::AudioDecoder decoder({});
  REQUIRE(decoder.decode(*index, test::bytes_of(file), 0, index->samples, planes.data(), index->samples));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = planes[i % channels * index->samples + i / channels];
  return samples;
}

float largest_difference(const std::vector<float>& one, const std::vector<float>& other) {
  REQUIRE(one.size() == other.size());
  float largest = 0;
  for (size_t i = 0; i < one.size(); ++i) largest = std::max(largest, std::abs(one[i] - other[i]));
  return largest;
}

std::string refusal(const std::string& file) {
  const auto index = ffmpeg::index_audio(test::bytes_of(file));
  return index ? "" : index.error().message;
}

}  // namespace

TEST_CASE("samples of a WAVE file are right, whatever room they have", "[audio]") {
  const auto kind = GENERATE(
      WaveForm{"8", kPcm, 8, 1, 0}, WaveForm{"16", kPcm, 16, 2, 0}, WaveForm{"24", kPcm, 24, 3, 0},
      WaveForm{"32", kPcm, 32, 4, 0}, WaveForm{"64", kPcm, 64, 8, 0}, WaveForm{"12 in 16", kPcm, 12, 2, 0},
      WaveForm{"20 in 24", kPcm, 20, 3, 0}, WaveForm{"float", kFloat, 32, 4, 0}, WaveForm{"double", kFloat, 64, 8, 0},
      WaveForm{"16 of 16", kPcm, 16, 2, 16}, WaveForm{"12 of 16", kPcm, 16, 2, 12}, WaveForm{"8 of 16", kPcm, 16, 2, 8},
      WaveForm{"24 of 24", kPcm, 24, 3, 24}, WaveForm{"20 of 24", kPcm, 24, 3, 20},
      WaveForm{"16 of 24", kPcm, 24, 3, 16}, WaveForm{"24 of 32", kPcm, 32, 4, 24},
      WaveForm{"20 of 32", kPcm, 32, 4, 20}, WaveForm{"16 of 32", kPcm, 32, 4, 16},
      WaveForm{"12 of 32", kPcm, 32, 4, 12}, WaveForm{"24 of 64", kPcm, 64, 8, 24},
      WaveForm{"40 of 64", kPcm, 64, 8, 40}, WaveForm{"float of 32", kFloat, 32, 4, 32},
      WaveForm{"24 of a float's 32", kFloat, 32, 4, 24});
  const uint32_t channels = GENERATE(1u, 2u, 5u);
  CAPTURE(kind.name, channels);
  const std::vector<float> samples = test::rising_tones(kRate_hz, static_cast<int>(channels), 0.7);
  const float step = std::ldexp(1.0F, -static_cast<int>(std::min(kind.bytes * 8, 24u)) + 1);
  CHECK(largest_difference(decoded(wave_of(samples, kind, channels)), samples) <= step);
}

TEST_CASE("samples in wider room than the header's bits are refused by name, for programs differ", "[audio]") {
  const auto kind =
      GENERATE(WaveForm{"24 in 4 bytes", kPcm, 24, 4, 0}, WaveForm{"20 in 4 bytes", kPcm, 20, 4, 0},
               WaveForm{"16 in 4 bytes", kPcm, 16, 4, 0}, WaveForm{"8 in 2 bytes", kPcm, 8, 2, 0},
               WaveForm{"32 in 8 bytes", kPcm, 32, 8, 0}, WaveForm{"a float in 8 bytes", kFloat, 32, 8, 0},
               WaveForm{"24 of 24 in 4 bytes", kPcm, 24, 4, 24});
  const uint32_t channels = GENERATE(1u, 2u);
  CAPTURE(kind.name, channels);
  const std::string file = wave_of(test::rising_tones(kRate_hz, static_cast<int>(channels), 0.2), kind, channels);
  CHECK_THAT(refusal(file), Catch::Contains("samples of " + std::to_string(kind.bits) + " bits take " +
                                            std::to_string(kind.bytes) + " bytes each"));
}

TEST_CASE("a block that only the header gets wrong changes nothing", "[audio]") {
  const std::vector<float> samples = test::rising_tones(kRate_hz, 2, 0.3);
  for (const WaveForm& kind : {WaveForm{"16", kPcm, 16, 2, 0}, WaveForm{"24", kPcm, 24, 3, 0}}) {
    const uint32_t right = 2 * kind.bytes;
    for (const uint32_t block : {1u, 2u, right, 8u, 12u}) {
      CAPTURE(kind.name, block);
      const float step = std::ldexp(1.0F, -static_cast<int>(kind.bits) + 1);
      CHECK(largest_difference(decoded(wave_of(samples, kind, 2, block, kRate_hz * right)), samples) <= step);
    }
  }
}

TEST_CASE("a header of a WAVE file that is cut or lies makes no fault", "[audio]") {
  const std::string file = wave_of(test::rising_tones(kRate_hz, 2, 0.01), WaveForm{"24 of 32", kPcm, 32, 4, 24}, 2);
  for (size_t size = 0; size < 90; ++size) refusal(file.substr(0, size));
  for (size_t at = 0; at < 90; ++at) {
    for (const int value : {0, 1, 0x7F, 0xFF}) {
      std::string other = file;
      other[at] = static_cast<char>(value);
      refusal(other);
    }
  }
}

}  // namespace spdld::wave_format_test
