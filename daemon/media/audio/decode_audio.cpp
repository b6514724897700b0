// decode-audio: the samples of the segment, and of the resampler's filter around it, are decoded, and no others.
// Outputs of one sound share its decoding.
#include <algorithm>
#include <cmath>
#include <string>

#include "daemon/media/audio/segment.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/operations.h"
#include "daemon/media/sample_notes.h"
#include "daemon/media/time_part.h"

namespace spdld::audio {
namespace {

class DecodeAudio final : public media::Node {
 public:
  explicit DecodeAudio(const media::PlacedOperation& placed)
      : output_(placed.output),
        index_id_(ffmpeg::kept_audio_id()),
        segment_(placed),
        part_(placed.spec),
        clip_(placed.spec.text("clip")),
        rate_hz_(static_cast<int>(placed.spec.integer("rate"))),
        channels_(placed.gives.sound().channels) {}

 private:
  Status announce(const media::Call& call) const override {
    const Result<SharedSound*> sound =
        call.workspace.of<AudioThread>().shared.open(call.sample, *call.field, index_id_);
    if (!sound) return media::of_output(output_, sound.error());
    const Result<Wanted> wanted = wanted_of((*sound)->index(), call);
    if (!wanted) return media::of_output(output_, wanted.error());
    (*sound)->ask(wanted->range);
    return check_read(*call.field, (*sound)->index(), wanted->range);
  }

  // kUnread: the samples lie in parts of the sound that have not been read.
  static Status check_read(media::Field& field, const ffmpeg::AudioIndex& index, const SampleRange& range) {
    if (!field.parts) return Done{};
    const std::vector<ByteRange> ranges = index.ranges_of(range.first, range.count);
    // Also where they are there: another output may need a further round, which reads what is wanted and nothing else.
    field.wanted.insert(field.wanted.end(), ranges.begin(), ranges.end());
    const bool is_read =
        std::all_of(ranges.begin(), ranges.end(), [&](const auto& one) { return field.parts->has(one); });
    if (is_read) return Done{};
    return Error{Trouble::kUnread, "parts of the sound have not been read"};
  }

  Status run(media::Value& value, const media::Call& call) const override {
    auto& thread = call.workspace.of<AudioThread>();
    const Status status = make(call.field == nullptr ? ByteParts(value.bytes) : call.field->content(), call, thread);
    if (!status && status.error().trouble == Trouble::kUnread) call.field->wanted = {{0, call.field->content().size()}};
    if (!status) return media::of_output(output_, status.error());
    value.sound = &thread.sound();
    return Done{};
  }

  std::vector<std::string> code() const override { return {ffmpeg::decoder_version()}; }
  std::string_view index_id() const override { return index_id_; }

  // A segment of the sound, behind so many zeros.
  struct Taken {
    Segment::Place place;
    uint64_t zeros = 0;
  };

  Result<Taken> taken_of(const ffmpeg::AudioIndex& index, uint64_t samples, int rate_hz,
                         const media::Call& call) const {
    if (!clip_.empty()) return of_clip(index, samples, rate_hz, call.workspace);
    const Result<media::TimePart> part = part_.part(call.workspace);
    if (!part) return part.error();
    const auto sample_at = [&](double moment_s) {
      const double at = std::round(moment_s * rate_hz);
      return at < static_cast<double>(samples) ? static_cast<uint64_t>(at) : samples;
    };
    const uint64_t first = sample_at(part->start_s), end = sample_at(part->end_s);
    if (first == end)
      return Error{Trouble::kContent,
                   "no sample of the sound's " + seconds(samples, rate_hz) + " lies " + part->text()};
    Result<Segment::Place> place = segment_.place(end - first, call.draws);
    if (!place) return place.error();
    return Taken{{first + place->first, place->count}};
  }

  // From the clip's start on. Where the sound begins later than the clip, zeros stand before it.
  Result<Taken> of_clip(const ffmpeg::AudioIndex& index, uint64_t samples, int rate_hz,
                        media::Workspace& workspace) const {
    const std::optional<double> start_s = workspace.of<media::ToldNumbers>().find(clip_);
    if (!start_s) return Error{Trouble::kInternal, "output '" + clip_ + "' has told no start"};
    const double first = std::round((*start_s - index.start_s) * rate_hz);
    const auto length = static_cast<double>(segment_.length());
    if (first >= static_cast<double>(samples) || first <= -length)
      return Error{Trouble::kContent,
                   "the sound, which lasts " + seconds(samples, rate_hz) + " from " + std::to_string(index.start_s) +
                       " s on, has nothing of the clip that begins at " + std::to_string(*start_s) + " s"};
    const auto zeros = static_cast<uint64_t>(std::max(-first, 0.0)), at = static_cast<uint64_t>(std::max(first, 0.0));
    const uint64_t count = std::min(segment_.length() - zeros, samples - at);
    if (const Status fits = segment_.check_length(zeros + count); !fits) return fits.error();
    return Taken{{at, count}, zeros};
  }

  static std::string seconds(uint64_t samples, int rate_hz) {
    return std::to_string(static_cast<double>(samples) / rate_hz) + " s";
  }

  // The part of a sound that the output takes, and the samples of the file from which it is made.
  struct Wanted {
    Taken taken;
    SampleRange range;
    int rate_hz;  // of what is taken
  };

  Result<Wanted> wanted_of(const ffmpeg::AudioIndex& index, const media::Call& call) const {
    if (index.channels != channels_ && index.channels != 1 && channels_ != 1)
      return Error{Trouble::kContent,
                   "the sound has " + std::to_string(index.channels) + " channels, not " + std::to_string(channels_)};
    auto& thread = call.workspace.of<AudioThread>();
    const int rate_hz = rate_hz_ == 0 ? index.rate_hz : rate_hz_;
    const Resampler& resampler = resampler_of(index, rate_hz, thread);
    const Result<Taken> taken = taken_of(index, resampler.outputs(index.samples), rate_hz, call);
    if (!taken) return taken.error();
    const Segment::Place& place = taken->place;
    SampleRange range = {place.first, place.count};
    if (index.rate_hz != rate_hz) {
      const Resampler::Range inputs = resampler.inputs(place.first, place.count, index.samples);
      range = {inputs.first, inputs.count};
    }
    const Status fits = thread.check_size(std::max(index.channels, channels_), std::max(range.count, place.count));
    if (!fits) return fits.error();
    return Wanted{*taken, range, rate_hz};
  }

  static const Resampler& resampler_of(const ffmpeg::AudioIndex& index, int rate_hz, AudioThread& thread) {
    return thread.resampler(static_cast<uint64_t>(index.rate_hz), static_cast<uint64_t>(rate_hz));
  }

  Status make(const ByteParts& file, const media::Call& call, AudioThread& thread) const {
    SharedSound* const shared = call.field == nullptr ? nullptr : thread.shared.find(call.sample, *call.field);
    if (shared != nullptr) return make_of(shared->index(), shared, file, call);
    const Result<ffmpeg::AudioIndex> index = ffmpeg::index_audio(file, thread.limits);
    return index ? make_of(*index, nullptr, file, call) : Status(index.error());
  }

  // `shared`: where the output has asked for its samples; null: nobody shares them.
  Status make_of(const ffmpeg::AudioIndex& index, SharedSound* shared, const ByteParts& file,
                 const media::Call& call) const {
    const Result<Wanted> wanted = wanted_of(index, call);
    if (!wanted) return wanted.error();
    if (index.foreign_bytes > 0) call.workspace.of<media::SampleNotes>().is_trimmed = true;
    const SampleRange& range = wanted->range;
    auto& thread = call.workspace.of<AudioThread>();
    Sound& sound = thread.sound();
    sound.resize(channels_ == 1 ? 1 : index.channels, range.count);
    sound.rate_hz = wanted->rate_hz;
    const Status decoded = shared != nullptr ? thread.shared.take(*shared, file, range, thread.decoder, sound)
                                             : decode(index, file, range, thread.decoder, sound);
    if (!decoded) return decoded;
    if (index.rate_hz != wanted->rate_hz)
      resample(resampler_of(index, wanted->rate_hz, thread), range.first, wanted->taken.place, thread);
    if (thread.sound().channels() < channels_) copy_channels(thread);
    return segment_.fill(thread, wanted->taken.zeros);
  }

  static void resample(const Resampler& resampler, uint64_t in_first, const Segment::Place& place,
                       AudioThread& thread) {
    Sound& in = thread.sound();
    Sound& out = thread.spare();
    out.resize(in.channels(), place.count);
    out.rate_hz = in.rate_hz;
    resample_part(resampler, in_first, place.first, thread);
  }

  void copy_channels(AudioThread& thread) const {
    Sound& in = thread.sound();
    Sound& out = thread.spare();
    out.resize(channels_, in.count());
    out.rate_hz = in.rate_hz;
    const std::span<const float> from = in.plane(0);
    for (int channel = 0; channel < channels_; ++channel)
      std::copy(from.begin(), from.end(), out.plane(channel).begin());
    thread.exchange();
  }

  std::string output_, index_id_;
  Segment segment_;
  media::TimePartNames part_;
  std::string clip_;  // the output with whose clip the segment begins; empty: none
  int rate_hz_;       // 0: each file's own
  int channels_;
};

}  // namespace
}  // namespace spdld::audio

namespace spdld::media::ops {

void decode_audio(const PlacedOperation& placed, Nodes& nodes) {
  ffmpeg::load_libraries();
  nodes.push_back(std::make_unique<audio::DecodeAudio>(placed));
}

}  // namespace spdld::media::ops
