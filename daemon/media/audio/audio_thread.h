// The objects that a decode thread keeps for sound: decoders, the sound that is worked on, and filters.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/media/audio/shared_sounds.h"
#include "daemon/media/audio/sound.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/node.h"
#include "daemon/media/signal/resampler.h"

namespace spdld::audio {

using media::Sound;

class AudioThread {
 public:
  explicit AudioThread(const media::DecodeLimits& its_limits)
      : limits(its_limits), decoder(its_limits), shared(its_limits), memory_(its_limits.memory) {}

  const media::DecodeLimits limits;
  ffmpeg::AudioDecoder decoder;
  SharedSounds shared;
  ByteBuffer resampling;  // memory for Resampler::run()
  Sound& sound() { return *sound_; }
  // Another one, which becomes sound() by exchange().
  Sound& spare() { return *spare_; }
  void exchange() { sound_.swap(spare_); }

  // The filter for these rates, of the last few that were asked for. Valid until the next call.
  const Resampler& resampler(uint64_t from, uint64_t to);
  // Asks for the memory of `count` floats a channel, of the sound and of its next form. kContent: they are more than
  // the limits allow.
  Status check_size(int channels, uint64_t count);
  void shrink(size_t bytes_max);

 private:
  std::unique_ptr<Sound> sound_ = std::make_unique<Sound>(), spare_ = std::make_unique<Sound>();
  std::vector<std::unique_ptr<Resampler>> resamplers_;  // the last used first
  media::MemoryPart memory_;
};

// Fills spare() from sound(), each channel with the outputs from `first` on; sound() begins with the input `in_first`.
// They change places. `thread.limits.guard` is told of each part.
void resample_part(const Resampler& resampler, uint64_t in_first, uint64_t first, AudioThread& thread);
// Resamples sound() as a whole, as if its rate were from / to of what it becomes. kContent: it becomes too long.
Status resample_all(uint64_t from, uint64_t to, AudioThread& thread);

// The key of the operation's random numbers.
uint64_t draw_of(const config::OperationSpec& op);
// The factor that `db` decibels are.
float factor_of(double db);

}  // namespace spdld::audio
