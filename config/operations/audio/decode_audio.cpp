#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_sound_of_clip(const OperationSpec& spec, const Complain& complain) {
  if (spec.text("clip").empty()) return;
  for (const std::string_view parameter : kTimePart)
    if (!spec.text(parameter).empty())
      complain(parameter, "can't stand beside clip, which says where the segment begins: give it to decode-video");
  if (spec.number("seconds") == 0 && spec.integer("samples") == 0)
    complain("clip", "needs seconds or samples: how much of the sound is taken from the clip's start on");
  if (spec.text("pick") == "center")
    complain("pick", "can't be \"center\" beside clip: the segment begins with the clip");
}

void check_audio_decoding(OperationSpec& spec, const Complain& complain) {
  check_segment(spec, complain);
  check_sound_of_clip(spec, complain);
  const int64_t rate_hz = spec.integer("rate");
  if (rate_hz != 0 && rate_hz < static_cast<int64_t>(kAudioRateMin_hz))
    complain("rate", "must be 0 (each file's own rate) or from 1000 to 768000 samples a second");
  if (rate_hz == 0 && spec.number("seconds") > 0)
    complain("seconds",
             "needs `rate`, such as rate = 16000: files may differ in rate, and then their segments in samples");
}

std::string bind_audio_decoding(const OperationSpec& spec, Signature& signature) {
  if (signature.bytes().origin == Origin::kName)
    return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.bytes().origin == Origin::kJson)
    return "can't decode a JSON value: it is a number or a text, not a sound";
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
  parameters.push_back({.name = "clip",
                        .type = ParameterType::kText,
                        .help =
                            "name of an output that begins with decode-video: the segment begins with its clip; none "
                            "when empty",
                        .fallback = Value(std::string())});
  std::vector<Ask> asks = time_part_asks();
  asks.push_back({"clip", Told::kClipStart});
  return {.name = "decode-audio",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kAudio,
          .help =
              "Decode the sound of a WAV, FLAC, MP3, AAC, Opus or Vorbis file, or of a video: a segment, without what "
              "lies before it, or the whole.",
          .parameters = std::move(parameters),
          .bind = bind_audio_decoding,
          .check = check_audio_decoding,
          .version = 3,
          .decodes = true,
          .asks = std::move(asks)};
}

}  // namespace spdld::config::ops
