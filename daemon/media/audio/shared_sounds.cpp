#include "daemon/media/audio/shared_sounds.h"

#include <algorithm>

#include "daemon/media/ffmpeg/kept_index.h"

namespace spdld::audio {
namespace {

// Decoded samples that wait for further outputs; where they are more, each output decodes its own.
constexpr uint64_t kHeldBytesMax = uint64_t{256} << 20;
constexpr size_t kSpareMax = 4;

}  // namespace

bool SharedSound::may_join(const Piece& a, const Piece& b) const {
  const bool overlap = a.first < b.end && b.first < a.end;
  return overlap && (!index_.depends_on_start() || a.start == b.start);
}

void SharedSound::ask(const SampleRange& range) {
  Piece joined = {range.first, range.first + range.count, index_.start_of(range.first), 1};
  // A piece that has grown may reach pieces that it did not reach before.
  for (auto at = pieces_.begin(); at != pieces_.end();) {
    if (!may_join(joined, *at)) {
      ++at;
      continue;
    }
    joined.first = std::min(joined.first, at->first);
    joined.end = std::max(joined.end, at->end);
    joined.start = std::min(joined.start, at->start);
    joined.takers += at->takers;
    pieces_.erase(at);
    at = pieces_.begin();
  }
  pieces_.push_back(std::move(joined));
}

SharedSound::Piece& SharedSound::piece_of(const SampleRange& range) {
  Piece wanted = {range.first, range.first + range.count, index_.start_of(range.first), 1};
  return *std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.takers > 0 && piece.first <= wanted.first && wanted.end <= piece.end && may_join(piece, wanted);
  });
}

Result<ffmpeg::AudioIndex> SharedSounds::index_of(media::Field& field, std::string_view index_id) const {
  media::KeptIndex* const kept = field.index_of(index_id);
  if (kept && !kept->bytes.empty())
    if (auto index = ffmpeg::unpacked_audio(kept->bytes)) return std::move(*index);
  Result<ffmpeg::AudioIndex> index = ffmpeg::index_audio(field.content(), limits_, &field.wanted);
  if (index && kept && (kept->is_kept || field.parts)) kept->set(ffmpeg::packed(*index));
  return index;
}

Result<SharedSound*> SharedSounds::open(uint64_t sample, media::Field& field, std::string_view index_id) {
  if (SharedSound* const known = find(sample, field)) return known;
  Result<ffmpeg::AudioIndex> index = index_of(field, index_id);
  if (!index) return index.error();
  if (sample_ != sample) sounds_.clear();
  sample_ = sample;
  return &sounds_.insert_or_assign(field.number, SharedSound(std::move(*index))).first->second;
}

SharedSound* SharedSounds::find(uint64_t sample, const media::Field& field) {
  const auto known = sounds_.find(field.number);
  return sample_ == sample && known != sounds_.end() ? &known->second : nullptr;
}

Status decode(const ffmpeg::AudioIndex& index, const ByteParts& file, const SampleRange& range,
              ffmpeg::AudioDecoder& decoder, media::Sound& to) {
  float* const memory = to.plane(0).data();
  if (to.channels() < index.channels) return decoder.decode_mean(index, file, range.first, range.count, memory);
  return decoder.decode(index, file, range.first, range.count, memory, to.stride());
}

Status SharedSounds::fill(SharedSound::Piece& piece, const ffmpeg::AudioIndex& index, const ByteParts& file,
                          ffmpeg::AudioDecoder& decoder) {
  if (spare_.empty()) spare_.push_back(std::make_unique<media::Sound>());
  media::Sound& sound = *spare_.back();
  const uint64_t count = piece.end - piece.first;
  const uint64_t bytes = count * static_cast<uint64_t>(index.channels) * sizeof(float);
  if (!memory_.add(ByteBuffer::room_for(bytes))) return media::no_room();
  sound.resize(index.channels, count);
  const Status decoded = decode(index, file, {piece.first, count}, decoder, sound);
  if (!decoded) return decoded;
  piece.sound = std::move(spare_.back());
  spare_.pop_back();
  return Done{};
}

Status SharedSounds::take(SharedSound& sound, const ByteParts& file, const SampleRange& range,
                          ffmpeg::AudioDecoder& decoder, media::Sound& to) {
  const ffmpeg::AudioIndex& index = sound.index();
  SharedSound::Piece& piece = sound.piece_of(range);
  const uint64_t bytes = (piece.end - piece.first) * static_cast<uint64_t>(index.channels) * sizeof(float);
  const bool is_held = piece.sound || (piece.takers > 1 && bytes <= kHeldBytesMax &&
                                       (limits_.bytes_max == 0 || bytes <= limits_.bytes_max));
  if (!is_held) {
    --piece.takers;
    return decode(index, file, range, decoder, to);
  }
  if (!piece.sound)
    if (const Status filled = fill(piece, index, file, decoder); !filled) return filled;
  const bool is_mean = to.channels() < index.channels;
  for (int channel = 0; channel < index.channels; ++channel) {
    const std::span<const float> from = piece.sound->plane(channel).subspan(range.first - piece.first, range.count);
    if (is_mean && channel > 0)
      ffmpeg::add_channel(from, to.plane(0).data());
    else
      std::copy(from.begin(), from.end(), to.plane(channel).begin());
  }
  if (is_mean) ffmpeg::finish_mean(index.channels, to.plane(0));
  if (--piece.takers == 0 && spare_.size() < kSpareMax) spare_.push_back(std::move(piece.sound));
  return Done{};
}

void SharedSounds::shrink(size_t bytes_max) {
  sounds_.clear();
  for (const auto& spare : spare_) spare->shrink(bytes_max);
}

}  // namespace spdld::audio
