#include "daemon/media/ffmpeg/sound/audio_index.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "daemon/media/cpu_budget.h"
#include "daemon/media/ffmpeg/packets/chain_links.h"
#include "daemon/media/ffmpeg/sound/audio_decoder.h"
#include "daemon/media/ffmpeg/sound/link_indexer.h"

namespace spdld::ffmpeg {
namespace {

// Leaves out the last packet where no decoder takes it: the file was cut within it. Where several packets can't be
// decoded, the file is damaged, and they stay.
Status leave_out_cut_packet(FoundLinks& found, const ByteParts& file, const media::DecodeLimits& limits) {
  constexpr size_t kCutMax = 2;
  AudioLink& link = found.links.back();
  AudioDecoder decoder(limits);
  uint64_t samples = 0, bytes = 0;
  for (size_t cut = 0; cut <= kCutMax && cut < link.packets.size(); ++cut) {
    const size_t number = link.packets.size() - 1 - cut;
    const Status decoded = decoder.try_packet(link, file, number);
    if (!decoded && decoded.error().message == media::kTooMuchCpuTime) return decoded;
    if (decoded && samples == link.samples) return Done{};  // nothing else is there
    if (decoded) {
      link.packets.resize(number + 1);
      link.samples -= samples;
      found.foreign_bytes += bytes;
      return Done{};
    }
    samples += link.packets[number].count;
    bytes += link.packets[number].bytes;
  }
  return Done{};
}

// Sounds that stand one behind the other. Each of them is as a file of its own.
class ChainIndexer {
 public:
  ChainIndexer(const ByteParts& file, const media::DecodeLimits& limits, bool only_libavformat)
      : file_(file), limits_(limits), budget_(limits), only_libavformat_(only_libavformat) {}

  Result<AudioIndex> run(std::vector<ByteRange>* unread) {
    const std::vector<ByteRange> chained = file_.is_whole() ? ogg_links(file_.from(0)) : std::vector<ByteRange>();
    if (!chained.empty()) return of_parts(chained);
    Result<FoundLinks> found = find_links(file_, limits_, only_libavformat_, unread);
    if (!found) return found.error();
    if (found->may_be_joined_flacs)
      if (const std::vector<ByteRange> joined = joined_flacs(file_.from(0)); !joined.empty()) return of_parts(joined);
    if (const Status added = add(std::move(*found), file_, 0); !added) return added.error();
    return std::move(index_);
  }

 private:
  Result<AudioIndex> of_parts(const std::vector<ByteRange>& parts) {
    if (parts.size() > kAudioLinksMax)
      return Error{Trouble::kContent, "the file holds more than " + std::to_string(kAudioLinksMax) +
                                          " sounds, one behind the other: divide it"};
    uint64_t left = file_.size();
    for (const ByteRange& part : parts) {
      const Status added = add_part(part);
      if (const Status within = budget_.check(); !within) return within.error();
      // The last one may have been cut before its first sample.
      const bool may_be_cut = !index_.links.empty() && &part == &parts.back();
      if (!added && !may_be_cut) return added.error();
      if (added) left -= part.bytes;
    }
    index_.foreign_bytes += left;
    return std::move(index_);
  }

  Status add_part(const ByteRange& part) {
    const std::span<const uint8_t> bytes = file_.at(part.offset, part.bytes);
    Result<FoundLinks> found = find_links(bytes, limits_, only_libavformat_, nullptr);
    return found ? add(std::move(*found), bytes, part.offset) : Status(found.error());
  }

  // `offset`: of the part in the file.
  Status add(FoundLinks found, const ByteParts& part, uint64_t offset) {
    if (found.may_be_cut)
      if (const Status left = leave_out_cut_packet(found, part, limits_); !left) return left;
    if (index_.links.empty()) index_.start_s = found.start_s;
    index_.foreign_bytes += found.foreign_bytes;
    for (AudioLink& link : found.links) {
      for (AudioPacket& packet : link.packets)
        if (!packet.is_copied) packet.offset += offset;
      index_.append(std::move(link));
    }
    return Done{};
  }

  const ByteParts& file_;
  const media::DecodeLimits& limits_;
  const media::CpuBudget budget_;
  const bool only_libavformat_;
  AudioIndex index_;
};

}  // namespace

void AudioIndex::append(AudioLink link) {
  if (links.empty()) {
    rate_hz = link.rate_hz;
    channels = link.channels;
  }
  const auto common = static_cast<uint64_t>(std::gcd(rate_hz, link.rate_hz));
  const uint64_t from = static_cast<uint64_t>(link.rate_hz) / common, to = static_cast<uint64_t>(rate_hz) / common;
  link.begin = samples;
  link.given = (link.samples * to + from - 1) / from;
  samples += link.given;
  links.push_back(std::move(link));
}

const AudioLink& AudioIndex::link_of(uint64_t sample) const {
  const auto behind = std::upper_bound(links.begin(), links.end(), sample,
                                       [](uint64_t at, const AudioLink& link) { return at < link.begin; });
  return *(behind - 1);
}

bool AudioIndex::depends_on_start() const {
  return std::any_of(links.begin(), links.end(), [](const AudioLink& link) { return link.depends_on_start(); });
}

size_t AudioIndex::start_of(uint64_t sample) const {
  const AudioLink& in = link_of(sample);
  size_t before = 0;
  for (const AudioLink* link = links.data(); link != &in; ++link) before += link->packets.size();
  return before + (in.rate_hz == rate_hz ? in.start_of(in.packet_of(sample - in.begin)) : 0);
}

std::vector<ByteRange> AudioIndex::ranges_of(uint64_t first, uint64_t count) const {
  constexpr uint64_t kGapMax = 64 << 10;  // packets of a video lie between the packets of its sound
  std::vector<ByteRange> ranges;
  for (const AudioLink& link : links) {
    const uint64_t begin = std::max(first, link.begin);
    const uint64_t end = std::min(first + std::max<uint64_t>(count, 1), link.begin + link.given);
    if (begin >= end) continue;
    const bool is_whole = link.rate_hz != rate_hz;
    const auto of_link = is_whole ? link.ranges_of(0, link.samples) : link.ranges_of(begin - link.begin, end - begin);
    ranges.insert(ranges.end(), of_link.begin(), of_link.end());
  }
  join_ranges(ranges, kGapMax);
  return ranges;
}

Result<AudioIndex> index_audio(const ByteParts& file, const media::DecodeLimits& limits,
                               std::vector<ByteRange>* unread) {
  return ChainIndexer(file, limits, false).run(unread);
}

Result<AudioIndex> index_audio_by_libavformat(const ByteParts& file, const media::DecodeLimits& limits) {
  return ChainIndexer(file, limits, true).run(nullptr);
}

}  // namespace spdld::ffmpeg
