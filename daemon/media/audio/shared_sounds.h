// The sounds of a sample's fields from which several outputs are made. All outputs say which samples of a sound they
// take before any of them runs; the sound is indexed once, and what several of them take is decoded once. Each output
// gets the very samples that it would get alone. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/media/audio/sound.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/node.h"

namespace spdld::audio {

struct SampleRange {
  uint64_t first, count;
};

// Writes samples to a sound of as many, as AudioDecoder has it. A sound of one channel gets the mean of the file's
// channels; another sound has as many channels as the file.
Status decode(const ffmpeg::AudioIndex& index, const ByteParts& file, const SampleRange& range,
              ffmpeg::AudioDecoder& decoder, media::Sound& to);

// The sound of one field, and what outputs take of it.
class SharedSound {
 public:
  explicit SharedSound(ffmpeg::AudioIndex index) : index_(std::move(index)) {}

  const ffmpeg::AudioIndex& index() const { return index_; }
  // An output says what it will take. Precondition: nothing was decoded yet.
  void ask(const SampleRange& range);

  // Samples that are decoded together, for outputs whose ranges overlap.
  struct Piece {
    uint64_t first, end;
    size_t start;                              // the packet at which decoding starts
    size_t takers;                             // outputs that have not taken their part yet
    std::unique_ptr<media::Sound> sound = {};  // null: it is not decoded yet
  };
  // Precondition: an output has asked for the range, and has not taken it yet.
  Piece& piece_of(const SampleRange& range);

 private:
  // Whether both are exact where they are decoded together.
  bool may_join(const Piece& a, const Piece& b) const;

  ffmpeg::AudioIndex index_;
  std::vector<Piece> pieces_;
};

class SharedSounds {
 public:
  explicit SharedSounds(const media::DecodeLimits& limits) : limits_(limits), memory_(limits.memory) {}

  // The sound of a field of this sample, whose index is kept, or made by the first call. `index_id`: of the node.
  // kContent: the field holds none. kUnread: field.wanted says what is to be read.
  Result<SharedSound*> open(uint64_t sample, media::Field& field, std::string_view index_id);
  // Null: nobody has opened it.
  SharedSound* find(uint64_t sample, const media::Field& field);
  // Writes samples that an output has asked for, as decode() does.
  Status take(SharedSound& sound, const ByteParts& file, const SampleRange& range, ffmpeg::AudioDecoder& decoder,
              media::Sound& to);
  // Forgets the sample, and keeps at most `bytes_max` bytes of memory.
  void shrink(size_t bytes_max);

 private:
  Result<ffmpeg::AudioIndex> index_of(media::Field& field, std::string_view index_id) const;
  Status fill(SharedSound::Piece& piece, const ffmpeg::AudioIndex& index, const ByteParts& file,
              ffmpeg::AudioDecoder& decoder);

  const media::DecodeLimits limits_;
  media::MemoryPart memory_;
  uint64_t sample_ = 0;
  std::map<size_t, SharedSound> sounds_;              // of the sample, by the field's number
  std::vector<std::unique_ptr<media::Sound>> spare_;  // their memory is used again
};

}  // namespace spdld::audio
