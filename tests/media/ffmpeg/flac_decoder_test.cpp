// FLAC that own code decodes has, bit for bit, the samples of libavcodec, and so have files that are damaged: the same
// samples, or the same reason.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "tests/media/audio/sounds.h"
#include "tests/media/ffmpeg/flac_writer.h"
#include "tests/support/rounds.h"

namespace spdld::flac_decoder_test {
namespace {

using namespace spdld::test;
using Random = std::mt19937_64;

// What a decoder makes of a range.
struct Decoded {
  std::string reason;  // empty: there are samples
  std::vector<float> channels, mean;
  uint64_t packets = 0, own_packets = 0;

  bool is_same(const Decoded& other) const {
    return reason == other.reason && (!reason.empty() || (channels == other.channels && mean == other.mean));
  }
};

Decoded decoded(const ffmpeg::AudioIndex& index, const std::string& file, uint64_t first, uint64_t count,
                bool only_libavcodec) {
  ffmpeg::AudioDecoder decoder({}, only_libavcodec);
  Decoded made;
  made.channels.resize(count * static_cast<size_t>(index.channels));
  made.mean.resize(count);
  Status done = decoder.decode(index, bytes_of(file), first, count, made.channels.data(), count);
  if (done) done = decoder.decode_mean(index, bytes_of(file), first, count, made.mean.data());
  if (!done) made.reason = done.error().message;
  made.packets = decoder.packets_sent(), made.own_packets = decoder.own_packets();
  return made;
}

struct Compared {
  bool is_same = false, is_good = false, is_all_own = false, is_some_own = false;
};

Compared compared(const ffmpeg::AudioIndex& index, const std::string& file, uint64_t first, uint64_t count) {
  const Decoded own = decoded(index, file, first, count, false), reference = decoded(index, file, first, count, true);
  CHECK(reference.own_packets == 0);
  return {own.is_same(reference), own.reason.empty(), own.own_packets == own.packets, own.own_packets > 0};
}

// All samples, and some of them.
Compared compared(const std::string& file, Random& random) {
  const auto index = ffmpeg::index_audio(bytes_of(file));
  if (!index) return {.is_same = true};
  const uint64_t first = random() % index->samples, count = 1 + random() % (index->samples - first);
  const Compared some = compared(*index, file, first, count);
  Compared all = compared(*index, file, 0, index->samples);
  all.is_same = all.is_same && some.is_same;
  return all;
}

void check_all_own(const std::string& file, Random& random) {
  const Compared result = compared(file, random);
  CHECK(result.is_good);
  CHECK(result.is_same);
  CHECK(result.is_all_own);
}

std::string encoded(int rate_hz, int channels, double seconds, const std::string& arguments,
                    const std::string& ending = "flac") {
  const std::string wav = wav_of(rising_tones(rate_hz, channels, seconds), rate_hz, channels);
  return by_ffmpeg(wav, "wav", "-c:a flac " + arguments, ending);
}

TEST_CASE("own code decodes all FLAC that the ffmpeg program encodes", "[audio]") {
  const std::string s16 = "-sample_fmt s16 ", s24 = "-sample_fmt s32 -bits_per_raw_sample 24 ";
  std::vector<std::string> all = {s24, s24 + "-compression_level 12"};
  for (int level = 0; level <= 12; ++level) all.push_back(s16 + "-compression_level " + std::to_string(level));
  for (const std::string type : {"none", "fixed", "levinson", "cholesky"}) all.push_back(s16 + "-lpc_type " + type);
  for (const std::string mode : {"indep", "left_side", "right_side", "mid_side"})
    for (const std::string& bits : {s16, s24}) all.push_back(bits + "-ch_mode " + mode);
  for (const std::string size : {"16", "17", "192", "576", "4608", "32768", "65535"})
    all.push_back(s16 + "-frame_size " + size);
  all.push_back(s24 + "-compression_level 8 -min_prediction_order 12 -max_prediction_order 32");
  Random random(1);
  for (const std::string& arguments : all) {
    INFO(arguments);
    check_all_own(encoded(44'100, 2, 1.5, arguments), random);
  }
  for (const int channels : {1, 3, 4, 5, 6, 7, 8}) {
    INFO(channels << " channels");
    check_all_own(encoded(48'000, channels, 0.3, channels % 2 == 0 ? s16 : s24), random);
  }
}

TEST_CASE("own code decodes FLAC of silence, noise and squares", "[audio]") {
  Random random(7);
  const auto noise = [&](int) { return static_cast<float>(random() % 65'536) / 32'768 - 1; };
  const std::vector<std::function<float(int)>> signals = {[](int) { return 0.0f; }, [](int) { return 1.0f; }, noise,
                                                          [](int i) { return i / 50 % 2 == 0 ? -1.0f : 1.0f; },
                                                          [](int i) { return static_cast<float>(i / 10 % 64) / 64; }};
  for (size_t i = 0; i < signals.size(); ++i) {
    std::vector<float> samples(2 * 20'000);
    for (size_t at = 0; at < samples.size(); ++at) samples[at] = signals[i](static_cast<int>(at / 2));
    for (const std::string format : {"s16", "s32"}) {
      INFO("signal " << i << ", " << format);
      check_all_own(by_ffmpeg(wav_of(samples, 44'100, 2), "wav", "-c:a flac -sample_fmt " + format, "flac"), random);
    }
  }
}

TEST_CASE("own code decodes FLAC in other containers", "[audio]") {
  Random random(2);
  for (const std::string ending : {"mkv", "mp4", "oga"}) {
    INFO(ending);
    const std::string more = ending == "mp4" ? "-strict -2 " : "";
    check_all_own(encoded(44'100, 2, 1, more + "-sample_fmt s16", ending), random);
  }
}

TEST_CASE("own code decodes FLAC of all kinds", "[audio]") {
  constexpr std::array kBits = {8u, 12u, 16u, 20u, 24u};
  constexpr std::array<size_t, 10> kBlocks = {16, 32, 48, 100, 255, 256, 1152, 4096, 4608, 5000};
  Random random(3);
  int wrong = 0, left = 0;
  for (int i = 0; i < rounds(1000); ++i) {
    FlacWriter writer(static_cast<unsigned>(i));
    const FlacWriter::Sound sound{.channels = random() % 2 == 0 ? 2 : 1 + static_cast<int>(random() % 8),
                                  .bits = kBits[random() % kBits.size()],
                                  .block = kBlocks[random() % kBlocks.size()],
                                  .subframe = i % 3 == 0 ? static_cast<int>(32 + i / 3 % 32) : -1};
    const size_t samples = sound.block * (2 + random() % 4) + random() % sound.block;
    const std::string file = FlacWriter::file_of(sound, samples, writer.frames(sound, samples));
    const Compared result = compared(file, random);
    wrong += result.is_good && result.is_same ? 0 : 1;
    left += result.is_all_own ? 0 : 1;
    if (wrong + left == 1)
      UNSCOPED_INFO("sound " << i << " of " << sound.channels << " channels, " << sound.bits << " bits, blocks of "
                             << sound.block);
  }
  CHECK(wrong == 0);
  CHECK(left == 0);
}

// Samples go beyond their bits, and sums beyond their numbers.
TEST_CASE("residuals that belong to other samples give what libavcodec makes of them", "[audio]") {
  Random random(4);
  int own = 0, left = 0;
  for (int i = 0; i < rounds(600); ++i) {
    FlacWriter writer(static_cast<unsigned>(i));
    const FlacWriter::Sound sound{
        .channels = 1 + i % 2, .bits = 8 + 4 * (static_cast<unsigned>(i) % 5), .block = 256, .is_wild = true};
    const std::string file = FlacWriter::file_of(sound, 1024, writer.frames(sound, 1024));
    const Compared result = compared(file, random);
    INFO("sound " << i);
    CHECK(result.is_same);
    (result.is_all_own ? own : left) += 1;
  }
  CHECK(own > 0);
  CHECK(left > 0);
}

TEST_CASE("FLAC with a shift to the left is bad content", "[audio]") {
  Random random(8);
  FlacWriter writer(1);
  const FlacWriter::Sound sound{.block = 256, .subframe = 33, .is_shifted_left = true};
  const Compared result = compared(FlacWriter::file_of(sound, 1024, writer.frames(sound, 1024)), random);
  CHECK(result.is_same);
  CHECK_FALSE(result.is_good);
  CHECK_FALSE(result.is_all_own);
}

// A frame of 16 samples of one channel whose partitions are shorter than its order, where reading on would take samples
// from before the frame. All its codes are there: nothing else is wrong with it.
std::string with_short_partitions(uint64_t number, unsigned order, unsigned partition_order, bool is_linear) {
  constexpr unsigned kSamples = 16, kBits = 16;
  const std::string header = big_endian(0xFFF8, 2) + big_endian(0x79, 1) + big_endian(4 << 1, 1) +
                             coded_number(number) + big_endian(kSamples - 1, 2);
  FlacBits bits;
  bits.put((is_linear ? 31 + order : 8 + order) << 1, 8);
  bits.put(0, order * kBits);  // the first samples
  if (is_linear) {
    bits.put(1, 4 + 5);  // a precision of one bit, shifted by one
    bits.put(0, order * 1);
  }
  bits.put(partition_order, 2 + 4);
  unsigned at = order;
  for (unsigned end = kSamples >> partition_order; end <= kSamples; end += kSamples >> partition_order) {
    bits.put(0, 4);  // a code of one bit for each residual of 0
    for (unsigned i = at; i < end; ++i) bits.put_unary(0);
    at = end;
  }
  std::string frame = header + big_endian(crc_of(header, 0x07, 8), 1) + bits.take() + "cc";
  with_crc(frame);
  return frame;
}

TEST_CASE("partitions of FLAC that are shorter than the order are bad content, and those as long as it are not",
          "[audio]") {
  Random random(9);
  const FlacWriter::Sound sound{.channels = 1, .block = 16, .subframe = 1};
  for (const bool is_linear : {false, true}) {
    for (unsigned order = 1; order <= (is_linear ? 16u : 4u); ++order) {
      for (unsigned partition_order = 0; partition_order <= 4; ++partition_order) {
        CAPTURE(is_linear, order, partition_order);
        FlacWriter writer(order);
        std::vector<std::string> frames = writer.frames(sound, 16 * 6);
        frames[3] = with_short_partitions(3, order, partition_order, is_linear);
        const Compared result = compared(FlacWriter::file_of(sound, 16 * 6, frames), random);
        CHECK(result.is_same);
        const bool is_long_enough = 16u >> partition_order >= order;
        CHECK(result.is_good == is_long_enough);
        if (is_long_enough) CHECK(result.is_all_own);
      }
    }
  }
}

void damage(std::string& bytes, Random& random) {
  const size_t at = random() % bytes.size(), length = std::min<size_t>(1 + random() % 30, bytes.size() - at);
  switch (random() % 5) {
    case 0:
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      return;
    case 2:
      bytes.replace(at, length, length, random() % 2 == 0 ? '\xFF' : '\0');
      return;
    case 3:
      bytes.erase(at, length);
      return;
    default:
      std::generate_n(bytes.begin() + static_cast<ptrdiff_t>(at), length, [&] { return static_cast<char>(random()); });
  }
}

TEST_CASE("damaged FLAC gives what libavcodec makes of it", "[audio]") {
  Random random(5);
  int same = 0, good = 0, some_own = 0;
  const int all = rounds(2000);
  for (int i = 0; i < all; ++i) {
    FlacWriter writer(static_cast<unsigned>(i));
    const FlacWriter::Sound sound{.channels = 1 + i % 3, .bits = i % 4 == 0 ? 24u : 16u, .block = 192};
    std::vector<std::string> frames = writer.frames(sound, 192 * 6);
    const bool is_mended = i % 4 != 0;  // the parser finds no fault in the frame
    std::string& frame = frames[random() % frames.size()];
    if (is_mended) {
      for (uint64_t count = 1 + random() % 3; count > 0; --count) damage(frame, random);
      frame += frame.size() < 3 ? "cc" : "";
      with_crc(frame);
    }
    std::string file = FlacWriter::file_of(sound, 192 * 6, frames);
    if (!is_mended) damage(file, random);
    const Compared result = compared(file, random);
    same += result.is_same ? 1 : 0, good += result.is_good ? 1 : 0, some_own += result.is_some_own ? 1 : 0;
    if (!result.is_same) UNSCOPED_INFO("sound " << i);
  }
  CHECK(same == all);
  CHECK(good > all / 10);
  CHECK(good < all * 9 / 10);
  CHECK(some_own > all / 2);
}

// The frame before is decoded by own code, and libavcodec takes all from this one on.
TEST_CASE("a frame of another stream is libavcodec's", "[audio]") {
  Random random(6);
  FlacWriter writer(1);
  const FlacWriter::Sound sound{.channels = 2, .bits = 16, .block = 256};
  const std::vector<std::string> frames = writer.frames(sound, 256 * 8);
  const std::vector<FlacWriter::Sound> others = {{.channels = 1, .bits = 16, .block = 256},
                                                 {.channels = 2, .bits = 24, .block = 256},
                                                 {.channels = 2, .bits = 16, .block = 300}};
  for (const FlacWriter::Sound& other : others) {
    std::vector<std::string> mixed = frames;
    mixed[5] = writer.frames(other, other.block * 8)[5];
    const std::string file = FlacWriter::file_of(sound, 256 * 8, mixed);
    const Compared result = compared(file, random);
    CHECK(result.is_same);
    CHECK_FALSE(result.is_all_own);
  }
  // All frames have blocks that are longer than STREAMINFO allows, or tell of other bits than it does.
  const FlacWriter::Sound longer{.block = 300};
  const Compared blocks = compared(FlacWriter::file_of(sound, 1200, writer.frames(longer, 1200)), random);
  std::vector<std::string> lying = frames;
  for (std::string& frame : lying) {
    constexpr size_t kHeaderBytes = 7, kSizeAt = 3;
    constexpr int kSizeBits = 0x0E, k24Bits = 0x0C;
    frame[kSizeAt] = static_cast<char>((frame[kSizeAt] & ~kSizeBits) | k24Bits);
    frame.replace(kHeaderBytes, 1, big_endian(crc_of(frame.substr(0, kHeaderBytes), 0x07, 8), 1));
    with_crc(frame);
  }
  const Compared bits = compared(FlacWriter::file_of(sound, 256 * 8, lying), random);
  for (const Compared& result : {blocks, bits}) {
    CHECK(result.is_same);
    CHECK_FALSE(result.is_all_own);
  }
  // The last frame's CRC alone is looked at by nobody.
  std::vector<std::string> wrong = frames;
  wrong.back().back() ^= 1;
  const Compared result = compared(FlacWriter::file_of(sound, 256 * 8, wrong), random);
  CHECK(result.is_same);
}

}  // namespace
}  // namespace spdld::flac_decoder_test
