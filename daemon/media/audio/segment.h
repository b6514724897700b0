// The segment of a sound that an operation takes: where it lies, and what fills it up. Constant after construction.
#pragma once

#include <cstdint>

#include "daemon/media/audio/audio_thread.h"

namespace spdld::audio {

class Segment {
 public:
  // `part.gives` is the sound that the operation gives: its samples are the segment's.
  explicit Segment(const media::PlacedOperation& placed);

  struct Place {
    uint64_t first, count;
  };
  // The part of a sound of `samples` samples. kContent: it is too short, where that is bad.
  Result<Place> place(uint64_t samples, const Draws& draws) const;
  uint64_t length() const { return length_; }  // in samples; 0: the whole sound
  // kContent: a sound of `samples` samples is too short, where that is bad.
  Status check_length(uint64_t samples) const;
  // Puts zeros before the thread's sound, and fills it up to the segment's length. kContent: it has no samples to
  // repeat.
  Status fill(AudioThread& thread, uint64_t zeros = 0) const;

 private:
  enum class Pick : uint8_t { kRandom, kStart, kCenter };
  enum class Pad : uint8_t { kZeros, kRepeat, kBad, kKeep };

  uint64_t length_ = 0;  // 0: the whole sound
  Pick pick_ = Pick::kRandom;
  Pad pad_ = Pad::kZeros;
  uint64_t draw_;  // key
};

}  // namespace spdld::audio
