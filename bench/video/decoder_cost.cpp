// The cost of a new decoder for each stretch of packets, beside a decoder that is flushed and used again.
//
//   decoder_cost FOLDER [PACKETS [TURNS]]
//
// The program reads every file of video or sound in FOLDER/** into memory, and decodes its first PACKETS (60) packets
// by libavcodec in three ways, in turns: by one decoder that is flushed before, which is what spdld does not do since a
// flush leaves traces of other files; by a new decoder that has the frames' memory of the one before it, as spdld does;
// and by a new decoder with memory of its own. It prints the time to open a decoder, and the CPU time of the first way
// and the other ways by it: the medians of TURNS (15).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/video/measured.h"
#include "daemon/media/ffmpeg/libraries/decoder_pool.h"
#include "daemon/media/ffmpeg/libraries/frame_pool.h"
#include "daemon/media/ffmpeg/libraries/load.h"
#include "daemon/media/ffmpeg/pictures/video_decoder.h"
#include "daemon/media/ffmpeg/sound/audio_index.h"

using namespace spdld;
using namespace spdld::bench;

namespace {

using Packets = std::vector<std::span<const uint8_t>>;

template <typename Index>
Packets packets_of(const Index& index, const Bytes& file, size_t count) {
  Packets packets;
  for (const auto& packet : index.packets)
    if (packets.size() < count) packets.push_back(index.data_of(packet, ByteParts(file)));
  return packets;
}

class Decoding {
 public:
  Decoding(const ffmpeg::DecoderParameters& parameters, Packets packets)
      : parameters_(parameters), packets_(std::move(packets)), kept_(open(false)) {}

  void print(const std::string& name, int turns) {
    std::array<std::vector<double>, 4> ms;
    for (int i = 0; i < turns; ++i) {
      ms[0].push_back(ms_of([&] { open(false); }));
      ms[1].push_back(ms_of([&] {
        ffmpeg::lib::avcodec_flush_buffers(kept_->context.get());
        decode(*kept_);
      }));
      ms[2].push_back(ms_of([&] { decode(*open(true)); }));
      ms[3].push_back(ms_of([&] { decode(*open(false)); }));
    }
    const double again = median(ms[1]);
    std::printf("%-32s %3zu packets: open %.3f ms; again %.3f ms, new with kept memory %.3f of it, new %.3f\n",
                name.c_str(), packets_.size(), median(ms[0]), again, median(ms[2]) / again, median(ms[3]) / again);
  }

 private:
  std::unique_ptr<ffmpeg::OpenedDecoder> open(bool has_kept_memory) {
    auto opened = std::make_unique<ffmpeg::OpenedDecoder>();
    opened->parameters.reset(ffmpeg::allocated(ffmpeg::lib::avcodec_parameters_alloc()));
    opened->context.reset(ffmpeg::allocated(ffmpeg::lib::avcodec_alloc_context3(parameters_.decoder)));
    AVCodecContext& context = *opened->context;
    if (ffmpeg::lib::avcodec_parameters_to_context(&context, parameters_.codec.get()) < 0) throw std::bad_alloc();
    context.thread_count = 1;
    if (has_kept_memory && context.codec_type == AVMEDIA_TYPE_VIDEO)
      frames_.serve(context, {context.width, context.height});
    if (ffmpeg::lib::avcodec_open2(&context, parameters_.decoder, nullptr) < 0)
      throw std::runtime_error("the decoder does not open");
    return opened;
  }

  void decode(ffmpeg::OpenedDecoder& decoder) const {
    for (const auto& packet : packets_) {
      if (decoder.send(packet, false, 0) < 0) throw std::runtime_error("a packet can't be decoded");
      while (ffmpeg::lib::avcodec_receive_frame(decoder.context.get(), decoder.frame.get()) >= 0)
        ffmpeg::lib::av_frame_unref(decoder.frame.get());
    }
  }

  const ffmpeg::DecoderParameters& parameters_;
  const Packets packets_;
  ffmpeg::FramePool frames_;
  const std::unique_ptr<ffmpeg::OpenedDecoder> kept_;
};

void measure(const std::filesystem::path& path, size_t count, int turns) {
  const Bytes file = read(path);
  const std::string name = path.filename().string();
  if (const auto video = ffmpeg::index_video(file)) {
    Decoding(*video->parameters, packets_of(*video, file, count)).print(name, turns);
  } else if (const auto sound = ffmpeg::index_audio(file)) {
    Decoding(*sound->parameters, packets_of(*sound, file, count)).print(name, turns);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "decoder_cost FOLDER [PACKETS [TURNS]]\n");
    return 2;
  }
  ffmpeg::load_libraries();
  const auto packets = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 60);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1]))
    if (entry.is_regular_file()) measure(entry.path(), packets, argc > 3 ? std::atoi(argv[3]) : 15);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "decoder_cost: %s\n", e.what());
  return 1;
}
