// Opens decoders, and keeps the decoders that are as new behind a flush. For this room alone. One object a thread.
//
// Frames and samples depend on their own file alone, so that a decoder begins each stretch of packets as a new one.
// Flushing does not bring most decoders there: parameter sets, headers and set-ups that came in packets, the noise's
// random numbers, and tables of damaged packets stay. Such a decoder is opened anew each time; its frames' memory is
// kept (frame_pool.h). Opening takes 0.01 to 0.3 ms, and is the greater part of the work for short stretches of Vorbis
// and PCM alone: decoders of these codecs are kept as long as no packet has left a trace in them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/libraries/handles.h"

namespace spdld::ffmpeg {

// Of one stream of a file.
struct DecoderParameters {
  CodecParameters codec;
  const AVCodec* decoder = nullptr;
};

// "Monkey's Audio"
std::string name_of_codec(AVCodecID codec);

// kContent: a decoder of this codec lacks a feature of the stream. `what` as below.
Error lacks_feature(AVCodecID codec, const std::string& what);

// The decoder for this codec, or null. Of MPEG audio below layer III it is the one with floats: the other one rounds
// with what rounding left over before, so that segments would differ from the whole.
const AVCodec* decoder_of(AVCodecID codec);
// Whether that decoder was found.
bool is_mpeg_float(const AVCodec& decoder);

// A copy of the stream's parameters, with its decoder. `what` is the stream in a sentence: "video". kContent: there is
// no decoder.
Result<std::unique_ptr<DecoderParameters>> decoder_parameters(const AVCodecParameters& codec, const std::string& what);

// The parameters of a stream from a packet on that brings another header of the codec.
std::unique_ptr<DecoderParameters> with_header(const DecoderParameters& parameters, std::span<const uint8_t> header);

// Whether a decoder of this codec that was as new, and decoded this packet, is as new again behind a flush.
bool is_forgotten(AVCodecID codec, std::span<const uint8_t> packet);

// A packet's side data; empty: it has none.
struct PacketSides {
  std::span<const uint8_t> header, palette;
};

class OpenedDecoder {
 public:
  CodecParameters parameters;
  CodecContext context;
  FrameHandle frame{allocated(lib::av_frame_alloc())};

  // Gives the decoder a packet, whose frames come with its time. Returns libavcodec's fault, or 0.
  int send(std::span<const uint8_t> data, bool is_key, int64_t time, const PacketSides& sides = {});
  // Says that there are no further packets.
  int finish() { return lib::avcodec_send_packet(context.get(), nullptr); }
  // Whether something of a packet would stay behind a flush.
  bool has_traces() const { return has_traces_; }
  void shrink(size_t bytes_max) { padded_.shrink(bytes_max); }

 private:
  PacketHandle packet_{allocated(lib::av_packet_alloc())};
  ByteBuffer padded_;  // the packet's data
  bool has_traces_ = false;
};

class DecoderPool {
 public:
  // Sets up a new decoder before it is opened.
  using Prepare = std::function<void(AVCodecContext& context)>;

  // A decoder for these parameters that is as new, valid until the next call. kContent: the decoder does not take the
  // stream's header.
  Result<OpenedDecoder*> decoder_for(const DecoderParameters& parameters, const std::string& what,
                                     const Prepare& prepare);
  // Keeps at most `bytes_max` bytes of memory, and no decoders that are not used again.
  void shrink(size_t bytes_max);

 private:
  void drop_used();

  std::vector<std::unique_ptr<OpenedDecoder>> opened_;  // the last used first
};

}  // namespace spdld::ffmpeg
