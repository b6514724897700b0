// Sounds for tests: signals, WAV files of them, and other files that the ffmpeg program makes and reads.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace spdld::test {

inline std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Tones that rise, with noise and pauses; channels differ.
inline std::vector<float> rising_tones(int rate_hz, int channels, double seconds) {
  const auto count = static_cast<size_t>(rate_hz * seconds);
  std::vector<float> samples(count * static_cast<size_t>(channels));
  std::mt19937 random(7);
  for (size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / rate_hz;
    const double loud = std::fmod(t, 1.0) < 0.8 ? 1 : 0.01;
    for (int c = 0; c < channels; ++c) {
      const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
      const double tone = 0.4 * std::sin(2 * std::numbers::pi * (200 + 150 * t + 40 * c) * t) +
                          0.1 * std::sin(2 * std::numbers::pi * 2500 * t);
      samples[i * static_cast<size_t>(channels) + static_cast<size_t>(c)] =
          static_cast<float>(loud * (tone + 0.05 * noise));
    }
  }
  return samples;
}

// Of interleaved samples: a WAV file of 32-bit floats.
inline std::string wav_of(const std::vector<float>& samples, int rate_hz, int channels) {
  std::string file;
  const auto put = [&](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  };
  const uint64_t data = samples.size() * 4, block = static_cast<uint64_t>(channels) * 4;
  file += "RIFF";
  put(36 + data, 4);
  file += "WAVEfmt ";
  put(16, 4), put(3, 2), put(static_cast<uint64_t>(channels), 2), put(static_cast<uint64_t>(rate_hz), 4);
  put(static_cast<uint64_t>(rate_hz) * block, 4), put(block, 2), put(32, 2);
  file += "data";
  put(data, 4);
  file.append(reinterpret_cast<const char*>(samples.data()), data);
  return file;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What `ffmpeg -i IN ARGUMENTS OUT` writes; empty: it failed.
inline std::string by_ffmpeg(const std::string& content, const std::string& in_ending, const std::string& arguments,
                             const std::string& out_ending) {
  const TempDir folder;
  const std::string in = folder.write("in." + in_ending, content), out = folder.path() / ("out." + out_ending);
  const std::string command = "ffmpeg -v error -y -i " + in + " " + arguments + " " + out + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) return {};
  return content_of(out);
}

// All samples of the file, interleaved, as the ffmpeg program decodes it.
inline std::vector<float> decoded_by_ffmpeg(const std::string& content, const std::string& ending) {
  const std::string raw = by_ffmpeg(content, ending, "-vn -f f32le", "raw");
  std::vector<float> samples(raw.size() / 4);
  std::memcpy(samples.data(), raw.data(), samples.size() * 4);
  return samples;
}

}  // namespace spdld::test
