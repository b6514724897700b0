#include "daemon/media/ffmpeg/decoder_pool.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/ffmpeg/enumerations.h"

namespace spdld::ffmpeg {
namespace {

constexpr size_t kOpenedMax = 4;  // decoders that a thread keeps

// Whether one decoder may decode both streams, one after the other.
bool is_same(const AVCodecParameters& a, const AVCodecParameters& b) {
  const bool is_same_codec = a.codec_id == b.codec_id && a.codec_tag == b.codec_tag && a.format == b.format &&
                             a.bits_per_coded_sample == b.bits_per_coded_sample;
  const bool is_same_picture = a.width == b.width && a.height == b.height && a.field_order == b.field_order;
  const bool is_same_sound = a.sample_rate == b.sample_rate && a.ch_layout.nb_channels == b.ch_layout.nb_channels &&
                             a.block_align == b.block_align;
  return is_same_codec && is_same_picture && is_same_sound && a.extradata_size == b.extradata_size &&
         (a.extradata_size == 0 || std::memcmp(a.extradata, b.extradata, static_cast<size_t>(a.extradata_size)) == 0);
}

// Flushing leaves AAC's decoder its random numbers, and it makes noise of these. A new decoder begins with the same
// numbers each time, so that samples don't depend on what was decoded before.
bool is_kept(AVCodecID codec) { return codec != AV_CODEC_ID_AAC; }

CodecParameters copy_of(const AVCodecParameters& codec) {
  CodecParameters copy(allocated(lib::avcodec_parameters_alloc()));
  if (lib::avcodec_parameters_copy(copy.get(), &codec) < 0) throw std::bad_alloc();
  check_enumerations(*copy);
  return copy;
}

}  // namespace

Result<std::unique_ptr<DecoderParameters>> decoder_parameters(const AVCodecParameters& codec, const std::string& what) {
  const AVCodec* const decoder = lib::avcodec_find_decoder(codec.codec_id);
  if (decoder == nullptr)
    return Error{Trouble::kContent, "the " + what + " is coded as " + lib::avcodec_get_name(codec.codec_id) +
                                        ", for which the FFmpeg that spdld runs with has no decoder"};
  auto parameters = std::make_unique<DecoderParameters>();
  parameters->codec = copy_of(codec);
  parameters->decoder = decoder;
  return parameters;
}

void DecoderPool::shrink(size_t bytes_max) {
  for (const auto& opened : opened_) opened->padded.shrink(bytes_max);
}

Result<OpenedDecoder*> DecoderPool::decoder_for(const DecoderParameters& parameters, int reordered,
                                                const std::string& what, const Prepare& prepare) {
  const AVCodecParameters& wanted = *parameters.codec;
  const auto found = std::find_if(opened_.begin(), opened_.end(), [&](const auto& opened) {
    return is_same(*opened->parameters, wanted) && opened->reordered == reordered;
  });
  if (found != opened_.end() && is_kept(wanted.codec_id)) {
    std::rotate(opened_.begin(), found, found + 1);
    // Frames that tell no aspect take the last one that the decoder met, which was another video's.
    opened_.front()->context->sample_aspect_ratio = wanted.sample_aspect_ratio;
    return opened_.front().get();
  }
  if (found != opened_.end()) opened_.erase(found);
  auto opened = std::make_unique<OpenedDecoder>();
  opened->parameters = copy_of(wanted);
  opened->reordered = reordered;
  opened->context.reset(allocated(lib::avcodec_alloc_context3(parameters.decoder)));
  AVCodecContext& context = *opened->context;
  int fault = lib::avcodec_parameters_to_context(&context, &wanted);
  context.thread_count = 1;  // samples are decoded beside one another instead
  prepare(context);
  if (fault >= 0) fault = lib::avcodec_open2(&context, parameters.decoder, nullptr);
  if (fault < 0) return fault_of("the " + what + "'s decoder does not take its header", fault);
  if (opened_.size() == kOpenedMax) opened_.pop_back();
  opened_.insert(opened_.begin(), std::move(opened));
  return opened_.front().get();
}

}  // namespace spdld::ffmpeg
