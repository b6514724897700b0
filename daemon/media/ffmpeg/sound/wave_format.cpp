#include "daemon/media/ffmpeg/sound/wave_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace spdld::ffmpeg {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint32_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;

bool has_text(Bytes bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + static_cast<ptrdiff_t>(at),
                    [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
}

// Zeros stand for bytes behind the end.
uint64_t number_at(Bytes bytes, size_t at, size_t count, bool is_big_endian) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t place = at + (is_big_endian ? i : count - 1 - i);
    number = number << 8 | (place < bytes.size() ? bytes[place] : 0u);
  }
  return number;
}

// How the chunks of a file follow one another.
struct Chunks {
  size_t first = 0;       // where the first one begins
  size_t name_bytes = 4;  // of a chunk's identifier, whose first four bytes are its name
  size_t length_bytes = 4;
  bool is_big_endian = false;
  bool counts_head = false;  // a chunk's length counts the bytes of its head, too
  size_t multiple = 2;       // every chunk begins at a multiple of it
};

std::optional<Chunks> chunks_of(Bytes file) {
  if ((has_text(file, 0, "RIFF") || has_text(file, 0, "RF64") || has_text(file, 0, "BW64")) &&
      has_text(file, 8, "WAVE"))
    return Chunks{.first = 12};
  if (has_text(file, 0, "RIFX") && has_text(file, 8, "WAVE")) return Chunks{.first = 12, .is_big_endian = true};
  if (has_text(file, 0, "riff") && has_text(file, 24, "wave"))
    return Chunks{.first = 40, .name_bytes = 16, .length_bytes = 8, .counts_head = true, .multiple = 8};
  return std::nullopt;
}

// The content of the first chunk of this name, from its begin to the file's end; empty: there is none.
Bytes chunk_of(Bytes file, const Chunks& chunks, std::string_view name) {
  constexpr int kChunksMax = 10'000;
  const size_t head = chunks.name_bytes + chunks.length_bytes;
  size_t at = chunks.first;
  for (int i = 0; i < kChunksMax && at < file.size() && file.size() - at >= head; ++i) {
    if (has_text(file, at, name)) return file.subspan(at + head);
    uint64_t length = number_at(file, at + chunks.name_bytes, chunks.length_bytes, chunks.is_big_endian);
    if (!chunks.counts_head) length += head;
    if (length < head || length > file.size() - at) return {};
    const auto whole = static_cast<size_t>(length);
    at += (whole + chunks.multiple - 1) / chunks.multiple * chunks.multiple;
  }
  return {};
}

struct PcmCodec {
  uint32_t kind, bytes;
  AVCodecID little, big;
};
constexpr std::array<PcmCodec, 7> kPcmCodecs = {{{kPcm, 1, AV_CODEC_ID_PCM_U8, AV_CODEC_ID_PCM_U8},
                                                 {kPcm, 2, AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE},
                                                 {kPcm, 3, AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE},
                                                 {kPcm, 4, AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE},
                                                 {kPcm, 8, AV_CODEC_ID_PCM_S64LE, AV_CODEC_ID_PCM_S64BE},
                                                 {kFloat, 4, AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE},
                                                 {kFloat, 8, AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE}}};

}  // namespace

std::optional<WaveFormat> wave_format_of(std::span<const uint8_t> file) {
  constexpr size_t kPlainBytes = 16, kSubformatAt = 24, kExtensibleBytes = 40;
  const std::optional<Chunks> chunks = chunks_of(file);
  if (!chunks) return std::nullopt;
  const Bytes fmt = chunk_of(file, *chunks, "fmt ");
  if (fmt.size() < kPlainBytes) return std::nullopt;
  const auto number = [&](size_t at, size_t count) {
    return static_cast<uint32_t>(number_at(fmt, at, count, chunks->is_big_endian));
  };
  WaveFormat format;
  format.kind = number(0, 2);
  format.channels = number(2, 2);
  format.rate_hz = number(4, 4);
  format.bytes_a_second = number(8, 4);
  format.block_bytes = number(12, 2);
  format.bits = number(14, 2);
  format.is_big_endian = chunks->is_big_endian;
  if (format.kind == kExtensible && fmt.size() >= kExtensibleBytes) format.kind = number(kSubformatAt, 2);
  return format;
}

Error too_wide_samples(uint32_t bits, uint32_t bytes) {
  return {Trouble::kUnsupported,
          "the sound's samples of " + std::to_string(bits) + " bits take " + std::to_string(bytes) +
              " bytes each, and the file does not say where the bits lie in them, so that programs read them in "
              "different ways: write the file with " +
              std::to_string((bits + 7) / 8) + " bytes a sample, or with samples of " + std::to_string(8 * bytes) +
              " bits"};
}

Result<AVCodecID> wave_codec_of(const WaveFormat& format, AVCodecID found) {
  const uint32_t bytes = format.sample_bytes(), narrow = format.channels * bytes;
  if ((format.kind != kPcm && format.kind != kFloat) || narrow == 0) return found;
  // Syntrillium's program says by a field of its own that the samples are floats; libavformat has seen the field.
  if (found == AV_CODEC_ID_PCM_F16LE) return found;
  const bool is_wide = format.block_bytes > narrow && format.block_bytes % format.channels == 0;
  // Some writers get the block wrong alone, which nobody minds.
  const bool is_meant = uint64_t{format.bytes_a_second} != uint64_t{format.rate_hz} * narrow;
  if (is_wide && is_meant) return too_wide_samples(format.bits, format.block_bytes / format.channels);
  const auto codec = std::find_if(kPcmCodecs.begin(), kPcmCodecs.end(),
                                  [&](const PcmCodec& one) { return one.kind == format.kind && one.bytes == bytes; });
  if (codec == kPcmCodecs.end()) return found;
  return format.is_big_endian ? codec->big : codec->little;
}

}  // namespace spdld::ffmpeg
