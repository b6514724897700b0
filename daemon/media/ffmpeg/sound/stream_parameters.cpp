#include "daemon/media/ffmpeg/sound/stream_parameters.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/media/ffmpeg/libraries/decoder_pool.h"

namespace spdld::ffmpeg {
namespace {

class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // Zeros stand behind the end.
  uint32_t next(int bits) {
    uint32_t value = 0;
    for (; bits > 0; --bits, ++at_) {
      const size_t byte = at_ / 8;
      value = value << 1 | (byte < bytes_.size() ? bytes_[byte] >> (7 - at_ % 8) & 1u : 0u);
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "libfaac 1.24"
bool names_faac(std::string_view text) {
  constexpr std::string_view kName = "libfaac ";
  if (!text.starts_with(kName)) return false;
  text.remove_prefix(kName.size());
  const size_t dot = text.find_first_not_of("0123456789");
  return dot != text.npos && dot > 0 && text[dot] == '.' && dot + 1 < text.size() && is_digit(text[dot + 1]);
}

// The content of a header of AAC.
struct AacHeader {
  int rate_hz = 0, channels = 0;  // 0: the frames tell the channels
  bool has_sbr = false;           // twice as many samples a frame
};

// ISO/IEC 14496-3, 1.6.2.1.
std::optional<AacHeader> aac_header(std::span<const uint8_t> header) {
  constexpr std::array kRates_hz = {96'000, 88'200, 64'000, 48'000, 44'100, 32'000, 24'000,
                                    22'050, 16'000, 12'000, 11'025, 8000,   7350};
  constexpr uint32_t kSbr = 5, kParametricStereo = 29, kEscape = 31, kOwnRate = 15;
  BitReader bits(header);
  const auto next_rate_hz = [&] {
    const uint32_t code = bits.next(4);
    if (code == kOwnRate) return static_cast<int>(bits.next(24));
    return code < kRates_hz.size() ? kRates_hz[code] : 0;
  };
  uint32_t kind = bits.next(5);
  if (kind == kEscape) kind = 32 + bits.next(6);
  AacHeader told{.rate_hz = next_rate_hz()};
  const uint32_t channels = bits.next(4);
  told.channels = static_cast<int>(channels == 7 ? 8 : channels);
  told.has_sbr = kind == kSbr || kind == kParametricStereo;
  if (told.has_sbr) told.rate_hz = next_rate_hz();
  if (kind == kParametricStereo) told.channels = 2;
  return told.rate_hz > 0 && told.channels <= 8 ? std::optional(told) : std::nullopt;
}

}  // namespace

// The decoders of AAC tell the rate and the channels only as they go, where SBR or PS is not announced. The headers of
// frames of AC-3 and the like tell what a container may have wrong. Opus has one rate (RFC 7845, 4), and some writers
// tell the rate of what they coded.
bool tells_parameters(const AVCodecParameters& stream) {
  constexpr std::array kToldByFrames = {AV_CODEC_ID_NONE, AV_CODEC_ID_AAC,    AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3,
                                        AV_CODEC_ID_DTS,  AV_CODEC_ID_TRUEHD, AV_CODEC_ID_MLP};
  constexpr int kOpusHz = 48'000;
  if (stream.codec_id == AV_CODEC_ID_OPUS && stream.sample_rate != kOpusHz) return false;
  return stream.sample_rate > 0 && stream.ch_layout.nb_channels > 0 &&
         std::find(kToldByFrames.begin(), kToldByFrames.end(), stream.codec_id) == kToldByFrames.end();
}

void correct(AVCodecParameters& codec, int rate_hz, int channels) {
  codec.sample_rate = rate_hz;
  if (codec.ch_layout.nb_channels == channels) return;
  codec.ch_layout = {};  // of no order: the decoder tells it
  codec.ch_layout.nb_channels = channels;
}

uint32_t opus_delay(const AVCodecParameters& codec) {
  constexpr int kHeadBytes = 19, kDelayAt = 10;
  const bool has_head = codec.codec_id == AV_CODEC_ID_OPUS && codec.extradata_size >= kHeadBytes;
  return has_head ? AV_RL16(codec.extradata + kDelayAt) : 0;
}

// ISO/IEC 14496-3, 4.4.2.7: the first element fills, and what it is filled with is a text behind 13 bits.
uint32_t faac_delay(std::span<const uint8_t> packet) {
  constexpr uint32_t kFill = 6, kEscape = 15, kPlainFill = 0, kDelay = 1024;
  constexpr size_t kAdtsBytes = 7, kCrcBytes = 2;
  if (packet.size() > kAdtsBytes && packet[0] == 0xFF && (packet[1] & 0xF6) == 0xF0)
    packet = packet.subspan(kAdtsBytes + ((packet[1] & 1) == 0 ? kCrcBytes : 0));
  BitReader bits(packet);
  if (bits.next(3) != kFill) return 0;
  uint32_t bytes = bits.next(4);
  if (bytes == kEscape) bytes += bits.next(8) - 1;
  if (bits.next(4) != kPlainFill) return 0;
  std::string text;
  bits.next(13);
  for (uint32_t left = 8 * bytes; left >= 17 + 8 + 8 * text.size() && text.size() < 255;)
    text.push_back(static_cast<char>(bits.next(8)));
  return names_faac(text) ? kDelay : 0;
}

bool has_header(const AVCodecParameters& codec, std::span<const uint8_t> header) {
  const std::span<const uint8_t> opened(codec.extradata, static_cast<size_t>(std::max(codec.extradata_size, 0)));
  return std::ranges::equal(header, opened);
}

Status set_aac_header(std::span<const uint8_t> header, AVCodecParameters& codec) {
  constexpr int kFrameSamples = 1024;
  const AVCodec* const decoder = decoder_of(codec.codec_id);
  const CodecContext opened(allocated(lib::avcodec_alloc_context3(decoder)));
  const size_t bytes = header.size() + AV_INPUT_BUFFER_PADDING_SIZE;
  opened->extradata = static_cast<uint8_t*>(allocated(lib::av_malloc(bytes)));
  std::fill(std::ranges::copy(header, opened->extradata).out, opened->extradata + bytes, uint8_t{0});
  opened->extradata_size = static_cast<int>(header.size());
  const int fault = lib::avcodec_open2(opened.get(), decoder, nullptr);
  if (fault < 0) return fault_of("the sound's decoder does not take a header on the way", fault);
  const AacHeader before{codec.sample_rate, codec.ch_layout.nb_channels}, told = aac_header(header).value_or(before);
  if (lib::avcodec_parameters_from_context(&codec, opened.get()) < 0) throw std::bad_alloc();
  correct(codec, told.rate_hz, told.channels > 0 ? told.channels : before.channels);
  codec.frame_size = told.has_sbr ? 2 * kFrameSamples : kFrameSamples;
  if (told.has_sbr) codec.profile = FF_PROFILE_AAC_HE;
  return Done{};
}

}  // namespace spdld::ffmpeg
