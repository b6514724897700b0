// The yardstick of the work "clips": the least CPU time that libavcodec needs to decode the frames of a clip, on one
// thread and without a loader.
//
//   bare_video FOLDER [ROUNDS [CLIPS]]
//
// The program first reads every FOLDER/**/*.mp4 into memory, and takes the packets and their times from libavformat. It
// then draws a start for each of CLIPS (1) clips of each video, and decodes the clip's 16 frames, which are 4 frames
// apart: from the last key frame at or before the first one, up to the last one. Packets that nothing refers to are
// skipped where their frames are not wanted. The clips of a video follow one another, so that they share the frames
// that overlap. Pixels stay as they are decoded, and nothing is resized. It prints one JSON line with the CPU
// milliseconds of one clip, as the mean of ROUNDS (3) passes, which draw clips of their own, and how many frames were
// decoded for a clip.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace {

constexpr size_t kFrames = 16, kStride = 4, kSpan = (kFrames - 1) * kStride + 1;
constexpr int kIoBytes = 1 << 16;

int check(int code, const char* what) {
  if (code < 0) throw std::runtime_error(std::string(what) + " failed");
  return code;
}

struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct FreeFrame {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct FreeCodec {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
using Packet = std::unique_ptr<AVPacket, FreePacket>;

// A file in memory, as libavformat reads one.
struct Memory {
  const std::vector<uint8_t>& bytes;
  size_t at = 0;

  static int read(void* opaque, uint8_t* to, int room) {
    auto& self = *static_cast<Memory*>(opaque);
    const size_t count = std::min(static_cast<size_t>(room), self.bytes.size() - self.at);
    if (count == 0) return AVERROR_EOF;
    std::memcpy(to, self.bytes.data() + self.at, count);
    self.at += count;
    return static_cast<int>(count);
  }

  static int64_t seek(void* opaque, int64_t to, int whence) {
    auto& self = *static_cast<Memory*>(opaque);
    if (whence == AVSEEK_SIZE) return static_cast<int64_t>(self.bytes.size());
    if (whence != SEEK_SET || to < 0 || to > static_cast<int64_t>(self.bytes.size())) return AVERROR(EINVAL);
    self.at = static_cast<size_t>(to);
    return to;
  }
};

// A video's packets in the order of decoding, and a decoder for them.
class Video {
 public:
  explicit Video(const std::vector<uint8_t>& file) {
    Memory memory{file};
    AVFormatContext* format = avformat_alloc_context();
    auto* block = static_cast<uint8_t*>(av_malloc(kIoBytes));
    AVIOContext* io = avio_alloc_context(block, kIoBytes, 0, &memory, &Memory::read, nullptr, &Memory::seek);
    format->pb = io;
    check(avformat_open_input(&format, nullptr, nullptr, nullptr), "avformat_open_input");
    const int stream =
        check(av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0), "av_find_best_stream");
    open(*format->streams[stream]->codecpar);
    for (;;) {
      Packet packet(av_packet_alloc());
      if (av_read_frame(format, packet.get()) < 0) break;
      if (packet->stream_index == stream) packets_.push_back(std::move(packet));
    }
    avformat_close_input(&format);
    av_freep(&io->buffer);
    avio_context_free(&io);
    number();
  }

  // Decodes the frames of these numbers, which count in the order of showing.
  void decode(const std::set<size_t>& frames) {
    std::set<size_t> wanted;  // packets, in the order of decoding
    for (const size_t frame : frames) wanted.insert(shown_[frame]);
    size_t at = packets_.size();
    for (const size_t last : wanted) {
      if (at == packets_.size() || key_[last] > at) {  // the first one, or nothing more is wanted of the group at hand
        drain();
        at = key_[last];
      }
      wanted_times_.insert(packets_[last]->pts);
      for (; at <= last; ++at) {
        codec_->skip_frame = at == last ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
        check(avcodec_send_packet(codec_.get(), packets_[at].get()), "avcodec_send_packet");
        receive();
      }
    }
    drain();
    if (!wanted_times_.empty()) throw std::runtime_error("a frame that was wanted did not come");
  }

  [[nodiscard]] size_t frames() const { return shown_.size(); }
  [[nodiscard]] uint64_t decoded() const { return decoded_; }
  // A sum over bytes of the wanted frames, so that no work can be left out.
  [[nodiscard]] uint64_t sum() const { return sum_; }

 private:
  void open(const AVCodecParameters& parameters) {
    const AVCodec* decoder = avcodec_find_decoder(parameters.codec_id);
    if (!decoder) throw std::runtime_error("libavcodec has no decoder of this video");
    codec_.reset(avcodec_alloc_context3(decoder));
    check(avcodec_parameters_to_context(codec_.get(), &parameters), "avcodec_parameters_to_context");
    codec_->thread_count = 1;
    check(avcodec_open2(codec_.get(), decoder, nullptr), "avcodec_open2");
  }

  // Finds which packet each frame comes from, and at which key frame its decoding begins.
  void number() {
    for (size_t i = 0; i < packets_.size(); ++i) {
      shown_.push_back(i);
      key_.push_back(i);
      while (key_[i] > 0 &&
             !((packets_[key_[i]]->flags & AV_PKT_FLAG_KEY) && packets_[key_[i]]->pts <= packets_[i]->pts))
        --key_[i];
    }
    std::sort(shown_.begin(), shown_.end(), [&](size_t a, size_t b) { return packets_[a]->pts < packets_[b]->pts; });
  }

  void receive() {
    while (avcodec_receive_frame(codec_.get(), frame_.get()) >= 0) {
      ++decoded_;
      if (wanted_times_.erase(frame_->pts) > 0) sum_ += frame_->data[0][0];
    }
  }

  // Takes the frames that the decoder still holds, and makes it ready for another key frame.
  void drain() {
    check(avcodec_send_packet(codec_.get(), nullptr), "avcodec_send_packet");
    receive();
    avcodec_flush_buffers(codec_.get());
  }

  std::unique_ptr<AVCodecContext, FreeCodec> codec_;
  std::unique_ptr<AVFrame, FreeFrame> frame_{av_frame_alloc()};
  std::vector<Packet> packets_;
  std::vector<size_t> shown_, key_;  // by frame, and by packet
  std::set<int64_t> wanted_times_;
  uint64_t sum_ = 0, decoded_ = 0;
};

double cpu_ms() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

std::vector<std::filesystem::path> videos_of(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mp4") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::set<size_t> draw_clips(size_t frames, int clips, std::mt19937_64& random) {
  if (frames < kSpan) throw std::runtime_error("a video is shorter than a clip");
  std::set<size_t> wanted;
  for (int clip = 0; clip < clips; ++clip) {
    const size_t start = std::uniform_int_distribution<size_t>(0, frames - kSpan)(random);
    for (size_t frame = 0; frame < kFrames; ++frame) wanted.insert(start + frame * kStride);
  }
  return wanted;
}

void measure(std::vector<Video>& videos, int rounds, int clips) {
  std::mt19937_64 random(1);
  double ms = 0;
  const double of_all = static_cast<double>(videos.size()) * clips;
  uint64_t decoded = 0, sum = 0;
  for (int round = 0; round <= rounds; ++round) {  // the first one only brings the decoders' memory
    const double began = cpu_ms();
    for (Video& video : videos) video.decode(draw_clips(video.frames(), clips, random));
    if (round > 0) ms += (cpu_ms() - began) / of_all / rounds;
  }
  for (const Video& video : videos) {
    decoded += video.decoded();
    sum += video.sum();
  }
  std::printf("{\"videos\": %zu, \"clips\": %d, \"cpu_ms\": %.4f, \"frames\": %.2f, \"sum\": %llu}\n", videos.size(),
              clips, ms, static_cast<double>(decoded) / of_all / (rounds + 1), static_cast<unsigned long long>(sum));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3, clips = argc > 3 ? std::atoi(argv[3]) : 1;
  if (argc < 2 || rounds < 1 || clips < 1) {
    std::fprintf(stderr, "usage: bare_video FOLDER [ROUNDS [CLIPS]]\n");
    return 2;
  }
  try {
    std::vector<Video> videos;
    for (const auto& path : videos_of(argv[1])) {
      std::ifstream in(path, std::ios::binary);
      videos.emplace_back(std::vector<uint8_t>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
    }
    if (videos.empty()) throw std::runtime_error(std::string(argv[1]) + " holds no .mp4 files");
    measure(videos, rounds, clips);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_video: %s\n", error.what());
    return 1;
  }
}
