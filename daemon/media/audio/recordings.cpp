#include "daemon/media/audio/recordings.h"

namespace spdld::audio {
namespace {

const std::string kEndings = "aac, aif, aiff, flac, m4a, mp3, oga, ogg, opus, wav, wma";

[[noreturn]] void refuse(const media::PlacedOperation& placed, Trouble trouble, const std::string& why) {
  throw SetupError(trouble, media::of_output(placed.output, {trouble, placed.spec.op + ": " + why}).message);
}

}  // namespace

Recordings::Recordings(const media::PlacedOperation& placed, const std::string& path, Channel channel,
                       uint64_t bytes_max) {
  if (placed.files == nullptr) refuse(placed, Trouble::kUnsupported, "no file beside the data set can be read here");
  AudioThread thread{media::DecodeLimits()};
  uint64_t bytes = 0;
  placed.files->read(path, kEndings, [&](const std::string& name, std::span<const uint8_t> file) {
    add(name, file, channel, *placed.takes.sound().rate_hz, thread);
    bytes += recordings_.back().samples.size() * sizeof(float);
    if (bytes > bytes_max)
      refuse(placed, Trouble::kLimit,
             "the recordings at " + path + " take more than memory_max = " + std::to_string(bytes_max) +
                 " bytes as floats: raise it, or give fewer recordings");
  });
  if (recordings_.empty())
    refuse(placed, Trouble::kUsage,
           "there is no recording in " + path + ", whose name would end in one of " + kEndings);
}

void Recordings::add(const std::string& path, std::span<const uint8_t> file, Channel channel, int rate_hz,
                     AudioThread& thread) {
  const auto refuse_bad = [&](const Status& status) {
    if (!status) throw SetupError(status.error().trouble, path + " can't be used: " + status.error().message);
  };
  const Result<ffmpeg::AudioIndex> index = ffmpeg::index_audio(file, thread.limits);
  refuse_bad(index ? Status(Done{}) : Status(index.error()));
  refuse_bad(thread.check_size(index->channels, index->samples));
  Sound& sound = thread.sound();
  sound.resize(channel == Channel::kMean ? 1 : index->channels, index->samples);
  refuse_bad(decode(*index, file, {0, index->samples}, thread.decoder, sound));
  refuse_bad(resample_all(static_cast<uint64_t>(index->rate_hz), static_cast<uint64_t>(rate_hz), thread));
  const std::span<const float> samples = thread.sound().plane(0);
  recordings_.push_back({path, {samples.begin(), samples.end()}});
}

double energy_of(std::span<const float> samples) {
  double energy = 0;
  for (const float sample : samples) energy += double{sample} * sample;
  return energy;
}

}  // namespace spdld::audio
