#include "daemon/media/ffmpeg/libraries/decoder_pool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "daemon/media/ffmpeg/libraries/enumerations.h"

namespace spdld::ffmpeg {
namespace {

constexpr size_t kOpenedMax = 4;  // decoders that a thread keeps

// Whether one decoder may decode both streams, one after the other.
bool is_same(const AVCodecParameters& a, const AVCodecParameters& b) {
  const bool is_same_codec = a.codec_id == b.codec_id && a.codec_tag == b.codec_tag && a.format == b.format &&
                             a.bits_per_coded_sample == b.bits_per_coded_sample &&
                             a.bits_per_raw_sample == b.bits_per_raw_sample;
  const bool is_same_sound = a.sample_rate == b.sample_rate && a.ch_layout.nb_channels == b.ch_layout.nb_channels &&
                             a.block_align == b.block_align;
  return is_same_codec && is_same_sound && a.extradata_size == b.extradata_size &&
         (a.extradata_size == 0 || std::memcmp(a.extradata, b.extradata, static_cast<size_t>(a.extradata_size)) == 0);
}

// Each sample is a number of the packet, and nothing else decides it.
bool is_plain_pcm(AVCodecID codec) {
  constexpr std::array kPlain = {
      AV_CODEC_ID_PCM_U8,    AV_CODEC_ID_PCM_S8,    AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_S24LE,
      AV_CODEC_ID_PCM_S24BE, AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE, AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE,
      AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE, AV_CODEC_ID_PCM_MULAW, AV_CODEC_ID_PCM_ALAW};
  return std::find(kPlain.begin(), kPlain.end(), codec) != kPlain.end();
}

CodecParameters copy_of(const AVCodecParameters& codec) {
  CodecParameters copy(allocated(lib::avcodec_parameters_alloc()));
  if (lib::avcodec_parameters_copy(copy.get(), &codec) < 0) throw std::bad_alloc();
  check_enumerations(*copy);
  return copy;
}

void set_header(std::span<const uint8_t> header, AVCodecParameters& codec) {
  lib::av_freep(&codec.extradata);
  codec.extradata_size = 0;
  codec.extradata = static_cast<uint8_t*>(allocated(lib::av_malloc(header.size() + AV_INPUT_BUFFER_PADDING_SIZE)));
  std::memcpy(codec.extradata, header.data(), header.size());
  std::memset(codec.extradata + header.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
  codec.extradata_size = static_cast<int>(header.size());
}

void add_side(AVPacketSideDataType type, std::span<const uint8_t> bytes, AVPacket& packet) {
  if (bytes.empty()) return;
  std::memcpy(allocated(lib::av_packet_new_side_data(&packet, type, bytes.size())), bytes.data(), bytes.size());
}

}  // namespace

std::string name_of_codec(AVCodecID codec) {
  const AVCodecDescriptor* const known = lib::avcodec_descriptor_get(codec);
  if (known == nullptr) return "a format that FFmpeg does not know";
  return known->long_name != nullptr ? known->long_name : known->name;
}

Error lacks_feature(AVCodecID codec, const std::string& what) {
  return {Trouble::kContent, "the " + what + " is coded as " + name_of_codec(codec) +
                                 " with a feature that FFmpeg's decoder lacks: code it in another way"};
}

const AVCodec* decoder_of(AVCodecID codec) {
  const bool is_mpeg = codec == AV_CODEC_ID_MP1 || codec == AV_CODEC_ID_MP2;
  const AVCodec* const by_floats =
      is_mpeg ? lib::avcodec_find_decoder_by_name(codec == AV_CODEC_ID_MP1 ? "mp1float" : "mp2float") : nullptr;
  return by_floats != nullptr ? by_floats : lib::avcodec_find_decoder(codec);
}

bool is_mpeg_float(const AVCodec& decoder) {
  const std::string_view name = decoder.name;
  return name.starts_with("mp") && name.ends_with("float");
}

Result<std::unique_ptr<DecoderParameters>> decoder_parameters(const AVCodecParameters& codec, const std::string& what) {
  const AVCodec* const decoder = decoder_of(codec.codec_id);
  if (decoder == nullptr)
    return Error{Trouble::kContent, "the " + what + " is coded as " + name_of_codec(codec.codec_id) +
                                        ", for which the FFmpeg that spdld runs with has no decoder"};
  auto parameters = std::make_unique<DecoderParameters>();
  parameters->codec = copy_of(codec);
  parameters->decoder = decoder;
  return parameters;
}

std::unique_ptr<DecoderParameters> with_header(const DecoderParameters& parameters, std::span<const uint8_t> header) {
  auto changed = std::make_unique<DecoderParameters>();
  changed->codec = copy_of(*parameters.codec);
  changed->decoder = parameters.decoder;
  set_header(header, *changed->codec);
  return changed;
}

// Of Vorbis (I, 4.2.1 and 4.3.1), the first bit is 1 in a header, which may bring another set-up, and 0 in sound. Sound
// leaves the half of a block that overlaps with the next one, and a flush takes that away.
bool is_forgotten(AVCodecID codec, std::span<const uint8_t> packet) {
  if (codec == AV_CODEC_ID_VORBIS) return !packet.empty() && (packet[0] & 1) == 0;
  return is_plain_pcm(codec);
}

int OpenedDecoder::send(std::span<const uint8_t> data, bool is_key, int64_t time, const PacketSides& sides) {
  has_traces_ = has_traces_ || !is_forgotten(parameters->codec_id, data);
  AVPacket& sent = *packet_;
  const std::span<const uint8_t> held = padded(data, padded_);
  sent.data = const_cast<uint8_t*>(held.data());  // decoders only read it
  sent.size = static_cast<int>(held.size());
  sent.flags = is_key ? AV_PKT_FLAG_KEY : 0;
  sent.pts = time;
  sent.dts = AV_NOPTS_VALUE;
  add_side(AV_PKT_DATA_NEW_EXTRADATA, sides.header, sent);
  add_side(AV_PKT_DATA_PALETTE, sides.palette, sent);
  const int fault = lib::avcodec_send_packet(context.get(), &sent);
  lib::av_packet_free_side_data(&sent);
  sent.data = nullptr;
  sent.size = 0;
  return fault;
}

void DecoderPool::drop_used() {
  // A decoder of a video was set up for that video, also where it was sent no packet.
  std::erase_if(opened_, [](const auto& opened) {
    return opened->has_traces() || opened->context->codec_type == AVMEDIA_TYPE_VIDEO;
  });
}

void DecoderPool::shrink(size_t bytes_max) {
  drop_used();
  for (const auto& opened : opened_) opened->shrink(bytes_max);
}

Result<OpenedDecoder*> DecoderPool::decoder_for(const DecoderParameters& parameters, const std::string& what,
                                                const Prepare& prepare) {
  drop_used();
  const AVCodecParameters& wanted = *parameters.codec;
  const auto found = std::find_if(opened_.begin(), opened_.end(),
                                  [&](const auto& opened) { return is_same(*opened->parameters, wanted); });
  if (found != opened_.end()) {
    std::rotate(opened_.begin(), found, found + 1);
    lib::avcodec_flush_buffers(opened_.front()->context.get());
    return opened_.front().get();
  }
  auto opened = std::make_unique<OpenedDecoder>();
  opened->parameters = copy_of(wanted);
  opened->context.reset(allocated(lib::avcodec_alloc_context3(parameters.decoder)));
  AVCodecContext& context = *opened->context;
  int fault = lib::avcodec_parameters_to_context(&context, &wanted);
  context.thread_count = 1;  // samples are decoded beside one another instead
  prepare(context);
  if (fault >= 0) fault = lib::avcodec_open2(&context, parameters.decoder, nullptr);
  if (is_missing_feature(fault)) return lacks_feature(wanted.codec_id, what);
  if (fault < 0) return fault_of("the " + what + "'s decoder does not take its header", fault);
  if (opened_.size() == kOpenedMax) opened_.pop_back();
  opened_.insert(opened_.begin(), std::move(opened));
  return opened_.front().get();
}

}  // namespace spdld::ffmpeg
