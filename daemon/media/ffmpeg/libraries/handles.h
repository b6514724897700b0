// Owners of what libavformat and libavcodec allocate, their faults as text, and the way in for bytes. For this room
// alone: no other room includes FFmpeg's headers. Any thread, each object by one at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/byte_parts.h"
#include "daemon/base/result.h"
#include "daemon/media/cpu_budget.h"
#include "daemon/media/ffmpeg/libraries/libraries.h"
#include "daemon/media/ffmpeg/libraries/load.h"

namespace spdld::ffmpeg {

struct Free {
  void operator()(AVCodecContext* context) const { lib::avcodec_free_context(&context); }
  void operator()(AVCodecParameters* parameters) const { lib::avcodec_parameters_free(&parameters); }
  void operator()(AVFrame* frame) const { lib::av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { lib::av_packet_free(&packet); }
};
using CodecContext = std::unique_ptr<AVCodecContext, Free>;
using CodecParameters = std::unique_ptr<AVCodecParameters, Free>;
using FrameHandle = std::unique_ptr<AVFrame, Free>;
using PacketHandle = std::unique_ptr<AVPacket, Free>;

// "Invalid data found when processing input"
std::string text_of(int fault);
// Whether the fault says that FFmpeg lacks something, and not that the content is damaged.
bool is_missing_feature(int fault);
// kContent: "it is no file of video or sound that can be read (Invalid data found ...)". So is "Cannot allocate
// memory", since it comes from sizes that a damaged file claims.
Error fault_of(const std::string& what, int fault);
// The object that a library allocated. Throws std::bad_alloc where it allocated none.
template <typename T>
T* allocated(T* object) {
  if (object == nullptr) throw std::bad_alloc();
  return object;
}

// "libavcodec 59.37.100", of the number that the library tells.
std::string version_text(const std::string& library, unsigned version);
// A copy of `data` in `memory`, with the zeros behind it that decoders read.
std::span<const uint8_t> padded(std::span<const uint8_t> data, ByteBuffer& memory);

// Where a packet's data lies, so that it is found again without the container.
struct PacketPlace {
  uint64_t offset = 0;
  bool is_copied = false;  // the container does not hold it in one piece: it lies in a copy
};

// libavformat reads a file that lies in memory, or the parts of it that do. It finds out the format by the bytes alone,
// opens no other file, and asks no network. `bytes` is borrowed for the object's life. Its CPU time is bounded,
// whatever the file says.
class Input {
 public:
  // Reads end when the CPU time that `limits` allows is used up. `only_libavformat`: it finds out the format, also
  // where the first bytes tell it.
  Input(const ByteParts& bytes, const media::DecodeLimits& limits, bool only_libavformat = false)
      : bytes_(bytes), budget_(limits), only_libavformat_(only_libavformat) {
    load_libraries();
  }
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Reads the header. Called once, before everything else. kContent: this is no such file. kUnread, here and below: a
  // part of the file is needed that is not there, and further calls fail.
  Status open();
  AVFormatContext& context() { return *context_; }
  std::string_view format() const { return context_->iformat->name; }
  // The stream of this kind, or null: there is none. Of several ones it is that of most pixels or channels, and the
  // first of equal ones, as the ffmpeg program chooses. All others are left out from now on.
  AVStream* choose(AVMediaType kind);
  // Decodes as much as is needed to know the streams' parameters, where the header does not tell them. Later
  // calls do nothing: they would not find more.
  Status find_parameters();
  // Whether the CPU time is used up, so that calls fail.
  bool is_spent() const { return budget_.is_spent(); }
  const media::CpuBudget& budget() const { return budget_; }
  // Where the first packet will be read. None: packets were read for find_parameters().
  std::optional<uint64_t> packets_start();
  // After a call has failed with kUnread: the parts with which it would have gone further, joined.
  std::vector<ByteRange> unread() const;
  // To be called before read(). Where only parts of the file are there, read() gives packets without their content, if
  // their places and times can be told in this way. kUnread: they can't, and the whole file is needed.
  Status begin_packets(AVCodecID codec);
  // kUnread: this part of the file is not there.
  Status need(const ByteRange& part);
  // Where the packet's data lies. Where it does not lie in one piece, a copy is added to `copied`.
  PacketPlace place_of(const AVPacket& packet, std::vector<uint8_t>& copied) const;
  // The next packet of the chosen stream. False: the file has no more. Error: kContent, its data is damaged.
  Result<bool> read(AVPacket& packet);

 private:
  // kUnread, for these parts.
  Status lack(std::vector<ByteRange> parts);
  // The error of a call of libavformat: `what` it did, that the CPU time is used up, or kUnread.
  Error failure(const std::string& what, int fault) const;
  static int is_over(void* self);
  static int read_some(void* self, uint8_t* to, int size);
  static int64_t seek(void* self, int64_t offset, int whence);

  const ByteParts bytes_;
  const media::CpuBudget budget_;
  const bool only_libavformat_;
  uint64_t at_ = 0;
  bool reads_zeros_ = false;  // where a part is missing
  std::vector<ByteRange> unread_;
  AVIOContext* io_ = nullptr;
  AVFormatContext* context_ = nullptr;
  int chosen_ = -1;
  bool has_looked_ = false;  // for parameters: libavformat crashes where it is asked once more
};

}  // namespace spdld::ffmpeg
