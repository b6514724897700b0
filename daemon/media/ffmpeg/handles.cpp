#include "daemon/media/ffmpeg/handles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

namespace spdld::ffmpeg {
namespace {

constexpr int kReadBytes = 1 << 15;
// libavformat may look at so much, to find the format and the parameters.
constexpr int64_t kProbeBytes = int64_t{5} << 20;
constexpr int kStreamsMax = 64;
// Formats that name other files or devices are not among them, since a file may only speak of itself.
constexpr char kFormats[] =
    "mov,matroska,webm,avi,flv,mpegts,mpeg,mpegvideo,h264,hevc,m4v,mjpeg,ivf,obu,ogg,gif,apng,webp,asf,mxf,nut,wav,w64,"
    "aiff,au,caf,flac,mp3,aac,ac3,eac3,amr,ape,tta,wv";

}  // namespace

std::string text_of(int fault) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  lib::av_strerror(fault, text.data(), text.size());
  return text.data();
}

Error fault_of(const std::string& what, int fault) { return {Trouble::kContent, what + " (" + text_of(fault) + ")"}; }

std::string version_text(const std::string& library, unsigned version) {
  return library + " " + std::to_string(AV_VERSION_MAJOR(version)) + "." + std::to_string(AV_VERSION_MINOR(version)) +
         "." + std::to_string(AV_VERSION_MICRO(version));
}

void hold_data(std::span<const uint8_t> data, ByteBuffer& padded, AVPacket& packet) {
  uint8_t* const memory = padded.resize(data.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  std::memcpy(memory, data.data(), data.size());
  std::memset(memory + data.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
  lib::av_packet_unref(&packet);
  packet.data = memory;
  packet.size = static_cast<int>(data.size());
}

PacketPlace place_of(const AVPacket& packet, std::span<const uint8_t> file, std::vector<uint8_t>& copied) {
  const auto offset = static_cast<uint64_t>(std::max<int64_t>(packet.pos, 0));
  const auto size = static_cast<size_t>(packet.size);
  if (packet.pos >= 0 && offset <= file.size() && size <= file.size() - offset &&
      std::memcmp(file.data() + offset, packet.data, size) == 0)
    return {offset, false};
  const PacketPlace place{copied.size(), true};
  copied.insert(copied.end(), packet.data, packet.data + size);
  return place;
}

Error Input::failure(const std::string& what, int fault) const {
  const Status within = budget_.check();
  return within ? fault_of(what, fault) : within.error();
}

int Input::is_over(void* self) { return static_cast<Input*>(self)->budget_.is_spent() ? 1 : 0; }

int Input::read_some(void* self, uint8_t* to, int size) {
  Input& input = *static_cast<Input*>(self);
  if (input.budget_.is_spent()) return AVERROR_EXIT;
  const size_t count = std::min(static_cast<size_t>(size), input.bytes_.size() - input.at_);
  if (count == 0) return AVERROR_EOF;
  std::memcpy(to, input.bytes_.data() + input.at_, count);
  input.at_ += count;
  return static_cast<int>(count);
}

int64_t Input::seek(void* self, int64_t offset, int whence) {
  Input& input = *static_cast<Input*>(self);
  if (input.budget_.is_spent()) return AVERROR_EXIT;
  const auto size = static_cast<int64_t>(input.bytes_.size());
  if ((whence & ~AVSEEK_FORCE) == AVSEEK_SIZE) return size;
  switch (whence & ~AVSEEK_FORCE) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += static_cast<int64_t>(input.at_);
      break;
    case SEEK_END:
      offset += size;
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  input.at_ = static_cast<size_t>(std::min(offset, size));
  return offset;
}

Status Input::open() {
  auto* const memory = static_cast<uint8_t*>(allocated(lib::av_malloc(kReadBytes)));
  io_ = lib::avio_alloc_context(memory, kReadBytes, 0, this, &read_some, nullptr, &seek);
  if (io_ == nullptr) {
    lib::av_free(memory);
    throw std::bad_alloc();
  }
  context_ = allocated(lib::avformat_alloc_context());
  context_->pb = io_;
  context_->interrupt_callback = {&is_over, this};
  context_->flags |= AVFMT_FLAG_CUSTOM_IO;
  context_->probesize = kProbeBytes;
  context_->max_streams = kStreamsMax;
  context_->format_whitelist = allocated(lib::av_strdup(kFormats));
  context_->protocol_whitelist = allocated(lib::av_strdup(""));
  // Frees the context where it fails.
  const int fault = lib::avformat_open_input(&context_, nullptr, nullptr, nullptr);
  if (fault < 0) return failure("it is no file of video or sound that can be read", fault);
  return Done{};
}

Input::~Input() {
  lib::avformat_close_input(&context_);
  if (io_ == nullptr) return;
  lib::av_freep(&io_->buffer);  // libavformat may have put another buffer in the place of the first one
  lib::avio_context_free(&io_);
}

namespace {

int64_t extent_of(const AVCodecParameters& stream) {
  if (stream.codec_type == AVMEDIA_TYPE_VIDEO) return int64_t{stream.width} * stream.height;
  return stream.ch_layout.nb_channels;
}

}  // namespace

AVStream* Input::choose(AVMediaType kind) {
  AVStream* best = nullptr;
  for (unsigned i = 0; i < context_->nb_streams; ++i) {
    AVStream& stream = *context_->streams[i];
    stream.discard = AVDISCARD_ALL;
    // The cover of a piece of music is a stream of video too.
    if (stream.codecpar->codec_type != kind || stream.disposition & AV_DISPOSITION_ATTACHED_PIC) continue;
    if (best == nullptr || extent_of(*stream.codecpar) > extent_of(*best->codecpar)) best = &stream;
  }
  if (best == nullptr) return nullptr;
  best->discard = AVDISCARD_DEFAULT;
  chosen_ = best->index;
  return best;
}

Status Input::find_parameters() {
  if (has_looked_) return Done{};
  has_looked_ = true;
  const int fault = lib::avformat_find_stream_info(context_, nullptr);
  if (fault < 0 || budget_.is_spent()) return failure("the streams of the file can't be made out", fault);
  return Done{};
}

Result<bool> Input::read(AVPacket& packet) {
  for (;;) {
    lib::av_packet_unref(&packet);
    const int fault = lib::av_read_frame(context_, &packet);
    if (fault == AVERROR_EOF && !budget_.is_spent()) return false;
    if (fault < 0) return failure("the file's streams are damaged", fault);
    if (packet.stream_index == chosen_) return true;
  }
}

}  // namespace spdld::ffmpeg
