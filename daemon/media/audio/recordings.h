// Sounds beside the data set that an operation mixes into samples: noises, or the impulse responses of rooms. They are
// decoded while a pipeline is set up, each to one channel at one rate, and stay in memory. Constant after construction;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/media/audio/audio_thread.h"

namespace spdld::audio {

class Recordings {
 public:
  enum class Channel { kMean, kFirst };  // of a recording with several ones

  // The recordings at `path`, a file or a folder, at the rate of the sounds that the operation takes. `bytes_max`: of
  // memory. Throws SetupError: there is none, one can't be decoded, they take more memory.
  Recordings(const media::PlacedOperation& placed, const std::string& path, Channel channel, uint64_t bytes_max);

  size_t count() const { return recordings_.size(); }  // at least one
  // Full scale is from -1 to 1. At least one sample.
  std::span<const float> at(size_t number) const { return recordings_[number].samples; }
  const std::string& path(size_t number) const { return recordings_[number].path; }

 private:
  struct Recording {
    std::string path;
    std::vector<float> samples;
  };
  void add(const std::string& path, std::span<const uint8_t> file, Channel channel, int rate_hz, AudioThread& thread);

  std::vector<Recording> recordings_;  // in the order of their paths
};

// The sum of the squares of the samples.
double energy_of(std::span<const float> samples);

}  // namespace spdld::audio
