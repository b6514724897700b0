#include "config/operations/audio/audio.h"

#include <algorithm>
#include <cmath>

#include "config/operations/common.h"

namespace spdld::config::ops {

std::vector<Parameter> segment_parameters() {
  return {{.name = "seconds",
           .type = ParameterType::kNumber,
           .help = "how long the segment is; 0: `samples` says it, or the whole sound is taken",
           .fallback = Value(0.0),
           .min = 0,
           .max = kAudioSecondsMax},
          {.name = "samples",
           .type = ParameterType::kInteger,
           .help = "how long the segment is, in samples of each channel",
           .fallback = Value(int64_t{0}),
           .min = 0,
           .max = kAudioSamplesMax},
          choice("pick", "where the segment lies in the sound", {"random", "start", "center"}, "random"),
          choice("pad",
                 "what a sound shorter than the segment becomes: zeros behind it, itself again and again, bad content, "
                 "or a shorter segment",
                 {"zeros", "repeat", "bad", "keep"}, "zeros"),
          draw()};
}

void check_segment(const OperationSpec& spec, const Complain& complain) {
  if (spec.number("seconds") > 0 && spec.integer("samples") > 0)
    complain("samples", "must not stand beside `seconds`: both say how long the segment is");
  check_draw(spec, complain);
}

Dimension segment_length(const OperationSpec& spec, std::optional<int> rate_hz) {
  int64_t samples = spec.integer("samples");
  const double seconds = spec.number("seconds");
  if (seconds > 0) samples = std::max<int64_t>(1, std::llround(seconds * rate_hz.value()));
  if (samples == 0) return {};
  return spec.text("pad") == "keep" ? Dimension::bounded(samples) : Dimension(samples);
}

std::vector<Parameter> recordings(std::string_view name, std::string_view help) {
  constexpr int64_t kMemoryMax = int64_t{1} << 30;
  return {{.name = name, .type = ParameterType::kPath, .help = help},
          {.name = "memory_max",
           .type = ParameterType::kSize,
           .help = "the most memory that they may take, decoded to one channel of floats; more is refused",
           .fallback = Value(kMemoryMax),
           .min = 1 << 20,
           .max = 0x1p40}};
}

std::string bind_to_recordings(const OperationSpec&, Signature& signature) {
  return signature.sound().rate_hz
             ? ""
             : "needs sounds of one rate, which its recordings are brought to: give decode-audio a `rate`";
}

std::string bind_samples(Signature& signature, Dimension samples) {
  signature.dimensions = {samples};
  return "";
}

std::string bind_same(const OperationSpec&, Signature&) { return ""; }

}  // namespace spdld::config::ops
