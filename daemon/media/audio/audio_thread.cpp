#include "daemon/media/audio/audio_thread.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace spdld::audio {
namespace {

constexpr size_t kResamplersMax = 8;
constexpr size_t kOutputsAtOnce = size_t{1} << 20;
constexpr uint64_t kOutputNs = 16;  // about

}  // namespace

const Resampler& AudioThread::resampler(uint64_t from, uint64_t to) {
  const uint64_t common = std::gcd(from, to);
  const auto found = std::find_if(resamplers_.begin(), resamplers_.end(), [&](const auto& kept) {
    return kept->from() == from / common && kept->to() == to / common;
  });
  if (found != resamplers_.end()) {
    std::rotate(resamplers_.begin(), found, found + 1);
  } else {
    if (resamplers_.size() == kResamplersMax) resamplers_.pop_back();
    resamplers_.insert(resamplers_.begin(), std::make_unique<Resampler>(from, to));
  }
  return *resamplers_.front();
}

Status AudioThread::check_size(int channels, uint64_t count) {
  constexpr uint64_t kSamplesMax = uint64_t{1} << 32;
  const uint64_t most =
      limits.bytes_max == 0 ? kSamplesMax : limits.bytes_max / sizeof(float) / static_cast<uint64_t>(channels);
  constexpr uint64_t kForms = 3;  // the sound, what becomes of it, and a filter's or a transform's values
  if (count <= std::min(most, kSamplesMax)) {
    const uint64_t bytes = kForms * count * static_cast<uint64_t>(channels) * sizeof(float);
    return memory_.grow_to(ByteBuffer::room_for(bytes)) ? Status(Done{}) : media::no_room();
  }
  return Error{Trouble::kContent, "its " + std::to_string(count) + " samples of " + std::to_string(channels) +
                                      " channels take more memory than a sample may: take a segment of it"};
}

void AudioThread::shrink(size_t bytes_max) {
  decoder.shrink(bytes_max);
  shared.shrink(bytes_max);
  resampling.shrink(bytes_max);
  sound_->shrink(bytes_max);
  spare_->shrink(bytes_max);
}

// The parts are so long that what is computed twice at their borders does not count.
void resample_part(const Resampler& resampler, uint64_t in_first, uint64_t first, AudioThread& thread) {
  Sound& in = thread.sound();
  Sound& out = thread.spare();
  for (int channel = 0; channel < in.channels(); ++channel) {
    const std::span<float> plane = out.plane(channel);
    for (size_t at = 0; at < plane.size(); at += kOutputsAtOnce) {
      const std::span<float> part = plane.subspan(at, std::min(kOutputsAtOnce, plane.size() - at));
      if (thread.limits.guard != nullptr) thread.limits.guard->spend(kOutputNs * part.size());
      resampler.run(in.plane(channel), in_first, first + at, part, thread.resampling);
    }
  }
  thread.exchange();
}

Status resample_all(uint64_t from, uint64_t to, AudioThread& thread) {
  const Resampler& resampler = thread.resampler(from, to);
  if (resampler.from() == resampler.to() || thread.sound().count() == 0) return Done{};
  Sound& in = thread.sound();
  Sound& out = thread.spare();
  const uint64_t count = resampler.outputs(in.count());
  if (const Status fits = thread.check_size(in.channels(), count); !fits) return fits;
  out.resize(in.channels(), count);
  out.rate_hz = in.rate_hz;
  resample_part(resampler, 0, 0, thread);
  return Done{};
}

uint64_t draw_of(const config::OperationSpec& op) {
  const std::string& name = op.text("draw");
  return draw_key(name.empty() ? op.op : name);
}

float factor_of(double db) { return static_cast<float>(std::pow(10.0, db / 20)); }

}  // namespace spdld::audio
