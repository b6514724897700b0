#include "daemon/media/ffmpeg/kept_index.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "daemon/base/formats/kept_bytes.h"
#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/enumerations.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kVideoVersion = 2, kAudioVersion = 3;  // raised where the bytes change
constexpr uint64_t kExtradataMax = 16 << 20;
constexpr uint64_t kOffsetMax = uint64_t{1} << 62;
constexpr int kTurnStep = 90;

std::string code() {
  return ", " + version_text("libavformat", lib::avformat_version()) + ", " +
         version_text("libavcodec", lib::avcodec_version());
}

void put_double(KeptWriter& to, double value) { to.text({reinterpret_cast<const char*>(&value), sizeof value}); }
double take_double(KeptReader& from) {
  const std::string_view bytes = from.text();
  double value = 0;
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}
std::string_view chars_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// False: the type has no such number.
template <typename Number>
bool take_into(KeptReader& from, Number& to) {
  const int64_t value = from.signed_number();
  if constexpr (std::is_enum_v<Number>) {
    const std::optional<Number> number = enumeration_of<Number>(value);
    to = number.value_or(to);
    return number.has_value();
  } else {
    to = static_cast<Number>(value);
    return std::in_range<Number>(value);
  }
}

// The numbers of the parameters that decoders are opened with.
template <typename Parameters, typename Visit>
void for_each_number(Parameters& codec, Visit visit) {
  visit(codec.codec_id);
  visit(codec.codec_tag);
  visit(codec.format);
  visit(codec.bit_rate);
  visit(codec.bits_per_coded_sample);
  visit(codec.bits_per_raw_sample);
  visit(codec.profile);
  visit(codec.level);
  visit(codec.width);
  visit(codec.height);
  visit(codec.sample_aspect_ratio.num);
  visit(codec.sample_aspect_ratio.den);
  visit(codec.field_order);
  visit(codec.color_range);
  visit(codec.color_primaries);
  visit(codec.color_trc);
  visit(codec.color_space);
  visit(codec.chroma_location);
  visit(codec.video_delay);
  visit(codec.sample_rate);
  visit(codec.block_align);
  visit(codec.frame_size);
  visit(codec.initial_padding);
  visit(codec.trailing_padding);
  visit(codec.seek_preroll);
}

void put_codec(KeptWriter& to, const AVCodecParameters& codec) {
  to.signed_number(codec.codec_type);
  for_each_number(codec, [&](const auto& number) { to.signed_number(static_cast<int64_t>(number)); });
  to.number(static_cast<uint64_t>(codec.ch_layout.order));
  to.number(static_cast<uint64_t>(codec.ch_layout.nb_channels));
  to.number(codec.ch_layout.order == AV_CHANNEL_ORDER_CUSTOM ? 0 : codec.ch_layout.u.mask);
  to.text(chars_of({codec.extradata, static_cast<size_t>(codec.extradata_size)}));
}

void take_layout(KeptReader& from, AVChannelLayout& layout) {
  const uint64_t order = from.number(), channels = from.number(), mask = from.number();
  const bool is_known = order == AV_CHANNEL_ORDER_NATIVE || order == AV_CHANNEL_ORDER_AMBISONIC;
  layout.order = is_known ? static_cast<AVChannelOrder>(order) : AV_CHANNEL_ORDER_UNSPEC;
  layout.nb_channels = channels <= kAudioChannelsMax ? static_cast<int>(channels) : 0;
  layout.u.mask = is_known ? mask : 0;
}

// False: there is no decoder, or these are no parameters.
template <typename Kept>
bool take_codec(KeptReader& from, AVMediaType type, Kept& kept) {
  kept.codec.reset(allocated(lib::avcodec_parameters_alloc()));
  AVCodecParameters& codec = *kept.codec;
  codec.codec_type = type;
  bool is_sound = from.signed_number() == type;
  for_each_number(codec, [&](auto& number) { is_sound = take_into(from, number) && is_sound; });
  take_layout(from, codec.ch_layout);
  const std::string_view extradata = from.text();
  if (!is_sound || !from.ok() || extradata.size() > kExtradataMax) return false;
  if (!extradata.empty()) {
    codec.extradata = static_cast<uint8_t*>(allocated(lib::av_malloc(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE)));
    std::memcpy(codec.extradata, extradata.data(), extradata.size());
    std::memset(codec.extradata + extradata.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
    codec.extradata_size = static_cast<int>(extradata.size());
  }
  kept.decoder = decoder_of(codec.codec_id);
  return kept.decoder != nullptr;
}

// The places of packets, which mostly lie one behind another.
class Places {
 public:
  template <typename Packet>
  void put(KeptWriter& to, const Packet& packet) {
    uint64_t& end = ends_[packet.is_copied];
    to.number(packet.bytes);
    to.signed_number(static_cast<int64_t>(packet.offset - end));
    end = packet.offset + packet.bytes;
  }
  // False: no file has such a place.
  template <typename Packet>
  bool take(KeptReader& from, uint64_t copied_bytes, Packet& packet) {
    uint64_t& end = ends_[packet.is_copied];
    const uint64_t bytes = from.number();
    packet.offset = end + static_cast<uint64_t>(from.signed_number());
    packet.bytes = static_cast<uint32_t>(bytes);
    end = packet.offset + bytes;
    if (bytes == 0 || bytes > INT32_MAX || packet.offset > kOffsetMax) return false;
    return !packet.is_copied || end <= copied_bytes;
  }

 private:
  uint64_t ends_[2] = {};
};

constexpr uint64_t kIsKey = 1, kVideoIsCopied = 2, kIsDiscarded = 4, kHasFrame = 8;

void put_packets(KeptWriter& to, const VideoIndex& index) {
  to.number(index.packets.size());
  Places places;
  int64_t time = 0;
  for (size_t i = 0; i < index.packets.size(); ++i) {
    const VideoPacket& packet = index.packets[i];
    const bool has_frame = packet.frame != kNoFrame;
    to.number((packet.is_key ? kIsKey : 0) | (packet.is_copied ? kVideoIsCopied : 0) |
              (packet.is_discarded ? kIsDiscarded : 0) | (has_frame ? kHasFrame : 0));
    places.put(to, packet);
    to.signed_number(packet.time - time);
    time = packet.time;
    if (has_frame) to.signed_number(int64_t{packet.frame} - static_cast<int64_t>(i));
  }
}

// Each frame is of one packet.
bool take_packets(KeptReader& from, uint64_t frames, VideoIndex& index) {
  const uint64_t packets = from.number();
  if (packets > kPacketsMax || frames == 0 || frames > packets || packets > from.rest().size()) return false;
  index.packets.resize(packets);
  index.frames.resize(frames);
  std::vector<bool> is_told(frames);
  Places places;
  uint64_t time = 0, told = 0;
  for (size_t i = 0; i < packets; ++i) {
    VideoPacket& packet = index.packets[i];
    const uint64_t flags = from.number();
    packet.is_key = (flags & kIsKey) != 0;
    packet.is_copied = (flags & kVideoIsCopied) != 0;
    packet.is_discarded = (flags & kIsDiscarded) != 0;
    if (!places.take(from, index.copied.size(), packet)) return false;
    time += static_cast<uint64_t>(from.signed_number());
    packet.time = static_cast<int64_t>(time);
    if ((flags & kHasFrame) == 0) continue;
    const uint64_t frame = i + static_cast<uint64_t>(from.signed_number());
    if (frame >= frames || is_told[frame]) return false;
    is_told[frame] = true;
    ++told;
    packet.frame = static_cast<uint32_t>(frame);
    index.frames[frame].packet = static_cast<uint32_t>(i);
  }
  return from.ok() && told == frames;
}

// False: a frame is shown before the frame in front of it, or its times can't be subtracted.
bool set_times(int64_t last_duration, VideoIndex& index) {
  constexpr int64_t kTimeMax = int64_t{1} << 61;
  auto& frames = index.frames;
  for (size_t i = 0; i < frames.size(); ++i) {
    const int64_t time = index.packets[frames[i].packet].time;
    frames[i].time = index.is_untimed ? static_cast<int64_t>(i) : time;
    if (frames[i].time < -kTimeMax || frames[i].time > kTimeMax) return false;
    if (i > 0 && frames[i].time < frames[i - 1].time) return false;
    if (i > 0) frames[i - 1].duration = frames[i].time - frames[i - 1].time;
  }
  frames.back().duration = last_duration;
  return last_duration >= 0 && last_duration <= kTimeMax;
}

bool take_rest(KeptReader& from, VideoIndex& index) {
  index.tick_s = take_double(from);
  index.reordered = static_cast<int>(from.number() & 0xff);
  index.picture.width = static_cast<int>(from.signed_number());
  index.picture.height = static_cast<int>(from.signed_number());
  index.turn = static_cast<int>(from.number() % 4) * kTurnStep;
  index.is_untimed = from.number() != 0;
  index.may_be_interlaced = from.number() != 0;
  index.sample_aspect.across = static_cast<int>(from.signed_number());
  index.sample_aspect.down = static_cast<int>(from.signed_number());
  index.has_sets = from.number() != 0;
  const int64_t pixels = from.signed_number();
  const bool has_pixels = pixels == kUnknownPixels || enumeration_of<AVPixelFormat>(pixels);
  index.pixels = has_pixels ? static_cast<int>(pixels) : kUnknownPixels;
  const std::string_view copied = from.text();
  index.copied.assign(copied.begin(), copied.end());
  const uint64_t frames = from.number();
  const int64_t last_duration = from.signed_number();
  if (!has_pixels || !take_packets(from, frames, index) || !set_times(last_duration, index)) return false;
  auto changes = StreamChanges::unpacked(from, index.packets.size());
  if (!changes) return false;
  index.changes = std::move(*changes);
  return index.tick_s > 0 && index.picture.width > 0 && index.picture.height > 0;
}

constexpr uint64_t kAudioIsCopied = 1, kIsPlain = 2;  // plain: nothing of what is decoded is left out

void put_packets(KeptWriter& to, const AudioLink& link) {
  to.number(link.packets.size());
  Places places;
  for (const AudioPacket& packet : link.packets) {
    const bool is_plain = packet.skipped == 0 && packet.count == packet.decoded;
    to.number((packet.is_copied ? kAudioIsCopied : 0) | (is_plain ? kIsPlain : 0));
    places.put(to, packet);
    to.number(packet.decoded);
    if (!is_plain) {
      to.number(packet.skipped);
      to.number(packet.count);
    }
  }
}

bool take_packets(KeptReader& from, AudioLink& link) {
  const uint64_t packets = from.number();
  if (packets == 0 || packets > kAudioPacketsMax || packets > from.rest().size()) return false;
  link.packets.resize(packets);
  Places places;
  for (AudioPacket& packet : link.packets) {
    const uint64_t flags = from.number();
    packet.is_copied = (flags & kAudioIsCopied) != 0;
    if (!places.take(from, link.copied.size(), packet)) return false;
    const uint64_t decoded = from.number();
    const bool is_plain = (flags & kIsPlain) != 0;
    const uint64_t skipped = is_plain ? 0 : from.number(), count = is_plain ? decoded : from.number();
    if (decoded > UINT32_MAX || skipped > decoded || count > decoded - skipped) return false;
    packet.first = link.samples;
    packet.decoded = static_cast<uint32_t>(decoded);
    packet.skipped = static_cast<uint32_t>(skipped);
    packet.count = static_cast<uint32_t>(count);
    link.samples += count;
  }
  return from.ok() && link.samples > 0;
}

void put_link(KeptWriter& to, const AudioLink& link) {
  put_codec(to, *link.parameters->codec);
  to.number(static_cast<uint64_t>(link.rate_hz));
  to.number(static_cast<uint64_t>(link.channels));
  to.number(link.preroll);
  to.number(link.delay);
  to.number(link.padding);
  to.text(chars_of(link.copied));
  put_packets(to, link);
}

bool take_link(KeptReader& from, AudioLink& link) {
  link.parameters = std::make_unique<DecoderParameters>();
  if (!take_codec(from, AVMEDIA_TYPE_AUDIO, *link.parameters)) return false;
  link.rate_hz = static_cast<int>(from.number() & INT32_MAX);
  link.channels = static_cast<int>(from.number() & INT32_MAX);
  link.preroll = from.number();
  link.delay = from.number();
  link.padding = from.number();
  const std::string_view copied = from.text();
  link.copied.assign(copied.begin(), copied.end());
  return take_packets(from, link) && link.samples <= kAudioSamplesMax && link.rate_hz >= kAudioRateMin_hz &&
         link.rate_hz <= kAudioRateMax_hz && link.channels >= 1 && link.channels <= kAudioChannelsMax;
}

}  // namespace

std::string kept_video_id() { return "index of video " + std::to_string(kVideoVersion) + code(); }
std::string kept_audio_id() { return "index of sound " + std::to_string(kAudioVersion) + code(); }

std::string packed(const VideoIndex& index) {
  KeptWriter to;
  put_codec(to, *index.parameters->codec);
  put_double(to, index.tick_s);
  to.number(static_cast<uint64_t>(index.reordered));
  to.signed_number(index.picture.width);
  to.signed_number(index.picture.height);
  to.number(static_cast<uint64_t>(index.turn / kTurnStep));
  to.number(index.is_untimed ? 1 : 0);
  to.number(index.may_be_interlaced ? 1 : 0);
  to.signed_number(index.sample_aspect.across);
  to.signed_number(index.sample_aspect.down);
  to.number(index.has_sets ? 1 : 0);
  to.signed_number(index.pixels);
  to.text(chars_of(index.copied));
  to.number(index.frames.size());
  to.signed_number(index.frames.back().duration);
  put_packets(to, index);
  index.changes.pack(to);
  return to.take();
}

std::string packed(const AudioIndex& index) {
  KeptWriter to;
  put_double(to, index.start_s);
  to.number(index.foreign_bytes);
  to.number(index.links.size());
  for (const AudioLink& link : index.links) put_link(to, link);
  return to.take();
}

std::optional<VideoIndex> unpacked_video(std::span<const uint8_t> bytes) {
  KeptReader from(chars_of(bytes));
  VideoIndex index;
  index.parameters = std::make_unique<DecoderParameters>();
  if (!take_codec(from, AVMEDIA_TYPE_VIDEO, *index.parameters) || !take_rest(from, index)) return std::nullopt;
  return index;
}

std::optional<AudioIndex> unpacked_audio(std::span<const uint8_t> bytes) {
  KeptReader from(chars_of(bytes));
  AudioIndex index;
  index.start_s = take_double(from);
  index.foreign_bytes = from.number();
  const uint64_t links = from.number();
  if (links == 0 || links > kAudioLinksMax) return std::nullopt;
  for (uint64_t i = 0; i < links; ++i) {
    AudioLink link;
    if (!take_link(from, link)) return std::nullopt;
    index.append(std::move(link));
  }
  return index;
}

}  // namespace spdld::ffmpeg
