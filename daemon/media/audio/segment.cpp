#include "daemon/media/audio/segment.h"

#include <algorithm>
#include <string>

namespace spdld::audio {

Segment::Segment(const media::PlacedOperation& placed) : draw_(draw_of(placed.spec)) {
  const bool is_whole = placed.spec.number("seconds") == 0 && placed.spec.integer("samples") == 0;
  if (!is_whole) length_ = static_cast<uint64_t>(placed.gives.dimensions[0].most().value());
  const std::string& pick = placed.spec.text("pick");
  const std::string& pad = placed.spec.text("pad");
  pick_ = pick == "random" ? Pick::kRandom : pick == "start" ? Pick::kStart : Pick::kCenter;
  pad_ = pad == "zeros" ? Pad::kZeros : pad == "repeat" ? Pad::kRepeat : pad == "bad" ? Pad::kBad : Pad::kKeep;
}

Result<Segment::Place> Segment::place(uint64_t samples, const Draws& draws) const {
  if (length_ == 0) return Place{0, samples};
  if (samples <= length_) {
    if (const Status long_enough = check_length(samples); !long_enough) return long_enough.error();
    return Place{0, samples};
  }
  const uint64_t spare = samples - length_;
  switch (pick_) {
    case Pick::kStart:
      return Place{0, length_};
    case Pick::kCenter:
      return Place{spare / 2, length_};
    case Pick::kRandom:
      break;
  }
  Draw draw = draws.named(draw_);
  return Place{draw.below(spare + 1), length_};
}

Status Segment::check_length(uint64_t samples) const {
  if (samples >= length_ || pad_ != Pad::kBad) return Done{};
  return Error{Trouble::kContent,
               "the sound has " + std::to_string(samples) + " samples, and the segment has " + std::to_string(length_)};
}

Status Segment::fill(AudioThread& thread, uint64_t zeros) const {
  Sound& in = thread.sound();
  const size_t has = zeros + in.count(), wanted = pad_ == Pad::kKeep ? has : std::max<size_t>(has, length_);
  if (wanted == in.count()) return Done{};
  if (has == 0 && pad_ == Pad::kRepeat) return Error{Trouble::kContent, "the sound has no samples to repeat"};
  if (const Status fits = thread.check_size(in.channels(), wanted); !fits) return fits;
  Sound& out = thread.spare();
  out.resize(in.channels(), wanted);
  out.rate_hz = in.rate_hz;
  for (int channel = 0; channel < in.channels(); ++channel) {
    const std::span<const float> from = in.plane(channel);
    const std::span<float> to = out.plane(channel);
    std::copy(from.begin(), from.end(), std::fill_n(to.begin(), zeros, 0.0f));
    for (size_t i = has; i < to.size(); ++i) to[i] = pad_ == Pad::kRepeat ? to[i - has] : 0.0f;
  }
  thread.exchange();
  return Done{};
}

}  // namespace spdld::audio
