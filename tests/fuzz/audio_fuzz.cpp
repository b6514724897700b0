// Arbitrary bytes as a file of sound: its packets are indexed, and the first bytes choose a range that is decoded. What
// can't be read must be an error of content. The range must be the same from a decoder that was used before and from a
// new one. It may hold numbers of every kind, but each of them must have been written. The index must be the same as
// the index that libavformat makes alone, and samples of FLAC the same as those of libavcodec alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/media/cpu_budget.h"
#include "daemon/media/ffmpeg/kept_index.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"

using namespace spdld;

namespace {

void check(const Error& error) {
  const bool is_expected = error.trouble == Trouble::kContent || error.trouble == Trouble::kMemory;
  if (!is_expected || error.message.empty()) std::abort();
}

// A verdict may differ where the CPU time was at its bound.
bool is_out_of_time(const Status& status) { return !status && status.error().message == media::kTooMuchCpuTime; }

bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The same range by libavcodec alone, and the mean of its channels by both.
void compare_with_libavcodec(const ffmpeg::AudioIndex& index, std::span<const uint8_t> file, uint64_t first,
                             const Status& status, const std::vector<float>& some, const media::DecodeLimits& limits) {
  const uint64_t count = some.size() / static_cast<size_t>(index.channels);
  ffmpeg::AudioDecoder reference(limits, true), own(limits);
  std::vector<float> again(some.size(), 1e30f), mean(count, 1e30f), own_mean = mean;
  const Status same = reference.decode(index, file, first, count, again.data(), count);
  if (is_out_of_time(status) || is_out_of_time(same)) return;
  if (static_cast<bool>(status) != static_cast<bool>(same)) std::abort();
  if (!status && status.error().message != same.error().message) std::abort();
  if (!status) return;
  if (!is_same(some, again)) std::abort();
  if (!reference.decode_mean(index, file, first, count, mean.data()) ||
      !own.decode_mean(index, file, first, count, own_mean.data()))
    return;
  if (!is_same(mean, own_mean)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 4;
  constexpr uint64_t kCountMax = 20'000;
  constexpr media::DecodeLimits kLimits{.cpu_ms_max = 500, .bytes_max = 64 << 20};
  if (size < kChoice) return 0;
  static ffmpeg::AudioDecoder used(kLimits);
  const std::span file(bytes + kChoice, size - kChoice);
  const auto index = ffmpeg::index_audio(file, kLimits), reference = ffmpeg::index_audio_by_libavformat(file, kLimits);
  if (index && reference && ffmpeg::packed(*index) != ffmpeg::packed(*reference)) std::abort();
  if (!index) {
    check(index.error());
    return 0;
  }
  if (index->samples == 0 || index->channels < 1 || index->channels > ffmpeg::kAudioChannelsMax) std::abort();
  uint64_t samples = 0;
  for (const ffmpeg::AudioLink& link : index->links) {
    uint64_t of_link = 0;
    for (const ffmpeg::AudioPacket& packet : link.packets) {
      if (packet.first != of_link || packet.skipped + packet.count > packet.decoded) std::abort();
      of_link += packet.count;
    }
    if (of_link != link.samples || of_link == 0 || link.begin != samples || link.given == 0) std::abort();
    samples += link.given;
  }
  if (samples != index->samples) std::abort();

  const uint64_t first = samples * (bytes[0] * 256u + bytes[1]) / 65'536;
  const uint64_t count = std::min({samples - first, uint64_t{bytes[2]} * 64 + bytes[3] + 1, kCountMax});
  std::vector<float> some(count * static_cast<size_t>(index->channels), 1e30f), again = some;
  const uint64_t own_packets = used.own_packets();
  const Status status = used.decode(*index, file, first, count, some.data(), count);
  if (used.own_packets() > own_packets) compare_with_libavcodec(*index, file, first, status, some, kLimits);
  if (!status) {
    check(status.error());
    return 0;
  }
  ffmpeg::AudioDecoder fresh(kLimits);
  if (!fresh.decode(*index, file, first, count, again.data(), count)) return 0;  // the CPU time was at its bound
  if (std::memcmp(some.data(), again.data(), some.size() * sizeof(float)) != 0) std::abort();
  return 0;
}
