// The decoders that a thread keeps from file to file, and the parameters that they are opened with. For this room
// alone. One object a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/media/ffmpeg/handles.h"

namespace spdld::ffmpeg {

// Of one stream of a file.
struct DecoderParameters {
  CodecParameters codec;
  const AVCodec* decoder = nullptr;
};

// A copy of the stream's parameters, with its decoder. `what` is the stream in a sentence: "video". kContent: there is
// no decoder.
Result<std::unique_ptr<DecoderParameters>> decoder_parameters(const AVCodecParameters& codec, const std::string& what);

struct OpenedDecoder {
  CodecParameters parameters;
  int reordered = 0;  // frames that the decoder holds back, to give them in order
  CodecContext context;
  FrameHandle frame{allocated(lib::av_frame_alloc())};
  PacketHandle packet{allocated(lib::av_packet_alloc())};
  ByteBuffer padded;  // the packet's data
};

class DecoderPool {
 public:
  // Sets up a new decoder before it is opened.
  using Prepare = std::function<void(AVCodecContext& context)>;

  // A decoder for these parameters, valid until the next call; the caller flushes it. kContent: the decoder does not
  // take the stream's header.
  Result<OpenedDecoder*> decoder_for(const DecoderParameters& parameters, int reordered, const std::string& what,
                                     const Prepare& prepare);
  // Gives back memory above so many bytes.
  void shrink(size_t bytes_max);

 private:
  std::vector<std::unique_ptr<OpenedDecoder>> opened_;  // the last used first
};

}  // namespace spdld::ffmpeg
