#include "config/operations/audio.h"
#include "config/operations/common.h"
#include "config/operations/types.h"

namespace spdld::config::ops {
namespace {

void check_audio_decoding(OperationSpec& spec, const Complain& complain) {
  check_segment(spec, complain);
  const int64_t rate_hz = spec.integer("rate");
  if (rate_hz != 0 && rate_hz < static_cast<int64_t>(kAudioRateMin_hz))
    complain("rate", "must be 0 (each file's own rate) or from 1000 to 768000 samples a second");
  if (rate_hz == 0 && spec.number("seconds") > 0)
    complain("seconds",
             "needs `rate`, such as rate = 16000: files may differ in rate, and then their segments in samples");
}

std::string bind_audio_decoding(const OperationSpec& spec, Signature& signature) {
  if (signature.origin == Origin::kName) return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.origin == Origin::kJson) return "can't decode a JSON value: it is a number or a text, not a sound";
  std::optional<int> rate_hz;
  if (const int64_t rate = spec.integer("rate"); rate != 0) rate_hz = static_cast<int>(rate);
  if (!rate_hz && spec.number("seconds") > 0) return "has `seconds` without `rate`: write rate = 16000, or another";
  signature = audio(static_cast<int>(spec.integer("channels")), rate_hz, segment_length(spec, rate_hz));
  return "";
}

}  // namespace

OperationType decode_audio() {
  std::vector<Parameter> parameters = {
      {.name = "rate",
       .type = ParameterType::kInteger,
       .help = "samples a second, to which sounds of other rates are resampled; 0: each file's own",
       .fallback = Value(int64_t{0}),
       .min = 0,
       .max = kAudioRateMax_hz},
      {.name = "channels",
       .type = ParameterType::kInteger,
       .help = "1: the mean of all channels; more: a file must have so many, or one, which is copied",
       .fallback = Value(int64_t{1}),
       .min = 1,
       .max = 64}};
  for (Parameter& parameter : segment_parameters()) parameters.push_back(std::move(parameter));
  for (Parameter& parameter : time_part()) parameters.push_back(std::move(parameter));
  return {.name = "decode-audio",
          .takes = Kind::kBytes,
          .gives = Kind::kAudio,
          .help =
              "Decode the sound of a WAV, FLAC, MP3, AAC, Opus or Vorbis file, or of a video: a segment, without what "
              "lies before it, or the whole.",
          .parameters = std::move(parameters),
          .bind = bind_audio_decoding,
          .check = check_audio_decoding,
          .asks_numbers_of = {kTimePart.begin(), kTimePart.end()}};
}

}  // namespace spdld::config::ops
