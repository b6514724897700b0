#include "daemon/media/ffmpeg/libraries/handles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "daemon/media/ffmpeg/libraries/file_format.h"
#include "daemon/media/ffmpeg/libraries/movie_boxes.h"

namespace spdld::ffmpeg {
namespace {

constexpr int kReadBytes = 1 << 15;
constexpr uint64_t kUnreadBytes = 256 << 10;  // that are asked for where a part is missing
// libavformat may look at so much, to find the format and the parameters.
constexpr int64_t kProbeBytes = int64_t{5} << 20;
constexpr int kStreamsMax = 64;
constexpr char kNoSuchFile[] = "it is no file of video or sound that can be read";
// Formats that name other files or devices are not among them, since a file may only speak of itself.
constexpr char kFormats[] =
    "mov,matroska,webm,avi,flv,mpegts,mpeg,mpegvideo,h264,hevc,m4v,mjpeg,ivf,obu,ogg,gif,apng,webp,asf,mxf,nut,wav,w64,"
    "aiff,au,caf,flac,mp3,aac,ac3,eac3,amr,ape,tta,wv";

}  // namespace

std::string text_of(int fault) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  // For other faults it writes their numbers.
  if (lib::av_strerror(fault, text.data(), text.size()) < 0) return "for a reason that FFmpeg has no words for";
  return text.data();
}

bool is_missing_feature(int fault) {
  return fault == AVERROR_PATCHWELCOME || fault == AVERROR_EXPERIMENTAL || fault == AVERROR(ENOSYS);
}

Error fault_of(const std::string& what, int fault) { return {Trouble::kContent, what + " (" + text_of(fault) + ")"}; }

std::string version_text(const std::string& library, unsigned version) {
  return library + " " + std::to_string(AV_VERSION_MAJOR(version)) + "." + std::to_string(AV_VERSION_MINOR(version)) +
         "." + std::to_string(AV_VERSION_MICRO(version));
}

std::span<const uint8_t> padded(std::span<const uint8_t> data, ByteBuffer& memory) {
  uint8_t* const copy = memory.resize(data.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  std::copy(data.begin(), data.end(), copy);  // none of them may be there
  std::memset(copy + data.size(), 0, AV_INPUT_BUFFER_PADDING_SIZE);
  return {copy, data.size()};
}

PacketPlace Input::place_of(const AVPacket& packet, std::vector<uint8_t>& copied) const {
  const auto offset = static_cast<uint64_t>(std::max<int64_t>(packet.pos, 0));
  const auto size = static_cast<size_t>(packet.size);
  if (packet.pos >= 0 && offset <= bytes_.size() && size <= bytes_.size() - offset) {
    if (reads_zeros_) return {offset, false};
    const std::span<const uint8_t> data = bytes_.at(offset, size);
    if (!data.empty() && std::memcmp(data.data(), packet.data, size) == 0) return {offset, false};
  }
  const PacketPlace place{copied.size(), true};
  copied.insert(copied.end(), packet.data, packet.data + size);
  return place;
}

Error Input::failure(const std::string& what, int fault) const {
  if (!unread_.empty()) return {Trouble::kUnread, what + ": a part of the file has not been read"};
  const Status within = budget_.check();
  return within ? fault_of(what, fault) : within.error();
}

int Input::is_over(void* self) {
  const Input& input = *static_cast<Input*>(self);
  return !input.unread_.empty() || input.budget_.is_spent() ? 1 : 0;
}

int Input::read_some(void* self, uint8_t* to, int size) {
  Input& input = *static_cast<Input*>(self);
  if (input.budget_.is_spent()) return AVERROR_EXIT;
  if (!input.unread_.empty()) return AVERROR_EXIT;
  uint64_t count = std::min(static_cast<uint64_t>(size), input.bytes_.size() - input.at_);
  if (count == 0) return AVERROR_EOF;
  const std::span<const uint8_t> bytes = input.bytes_.from(input.at_);
  if (!bytes.empty()) {
    count = std::min<uint64_t>(count, bytes.size());
    std::memcpy(to, bytes.data(), count);
  } else if (input.reads_zeros_) {
    count = std::min(count, input.bytes_.next_part(input.at_) - input.at_);
    std::memset(to, 0, count);
  } else {
    input.unread_.push_back({input.at_, std::min(kUnreadBytes, input.bytes_.size() - input.at_)});
    return AVERROR_EXIT;
  }
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
  input.at_ = static_cast<uint64_t>(std::min(offset, size));
  return offset;
}

std::vector<ByteRange> Input::unread() const {
  std::vector<ByteRange> all(bytes_.ranges().begin(), bytes_.ranges().end());
  all.insert(all.end(), unread_.begin(), unread_.end());
  join_ranges(all, 0);
  return all;
}

Status Input::lack(std::vector<ByteRange> parts) {
  unread_ = std::move(parts);
  return failure("the file's header can't be read", 0);
}

Status Input::need(const ByteRange& part) { return bytes_.has(part) ? Status(Done{}) : lack({part}); }

// libavformat looks into the packets of other codecs, for their times, or since a container holds them in pieces.
Status Input::begin_packets(AVCodecID codec) {
  constexpr std::array kUnseen = {AV_CODEC_ID_H264,   AV_CODEC_ID_HEVC, AV_CODEC_ID_MJPEG,
                                  AV_CODEC_ID_PRORES, AV_CODEC_ID_AAC,  AV_CODEC_ID_ALAC};
  const bool is_unseen = std::find(kUnseen.begin(), kUnseen.end(), codec) != kUnseen.end();
  const bool is_movie = std::string_view(context_->iformat->name).starts_with("mov,");
  if (!bytes_.is_whole() && !(is_unseen && is_movie)) return lack({{0, bytes_.size()}});
  reads_zeros_ = !bytes_.is_whole();
  // An index is the same from parts and from the whole file: the container alone says which frames are key frames.
  if (is_unseen && is_movie) context_->flags |= AVFMT_FLAG_NOPARSE;
  return Done{};
}

namespace {

bool is_read_here(std::string_view format) {
  const std::string all = "," + std::string(kFormats) + ",";
  const std::string_view first = format.substr(0, format.find(','));
  return all.find("," + std::string(first) + ",") != all.npos;
}

// The name of a format that libavformat knows and spdld does not read; empty: the bytes are in no such format.
std::string format_not_read(std::span<const uint8_t> bytes) {
  constexpr size_t kLookedAt = 1 << 16;
  ByteBuffer memory;
  static_assert(AVPROBE_PADDING_SIZE <= AV_INPUT_BUFFER_PADDING_SIZE);
  const std::span<const uint8_t> head = padded(bytes.first(std::min(bytes.size(), kLookedAt)), memory);
  const AVProbeData data = {"", const_cast<uint8_t*>(head.data()), static_cast<int>(head.size()), nullptr};
  int score = 0;
  const AVInputFormat* const format = lib::av_probe_input_format3(&data, 1, &score);
  if (format == nullptr || score <= AVPROBE_SCORE_RETRY || is_read_here(format->name)) return {};
  const std::string name = format->long_name != nullptr ? format->long_name : format->name;
  return "the file's format is " + name + ", which is not read as video or sound: convert it";
}

}  // namespace

Status Input::open() {
  if (!bytes_.is_whole()) {
    MovieBoxes boxes = find_movie_boxes(bytes_);
    if (boxes.needs_whole) return lack({{0, bytes_.size()}});
    if (!boxes.unread.empty()) return lack(std::move(boxes.unread));
  }
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
  const char* const told = only_libavformat_ ? nullptr : format_told_by(bytes_.from(0));
  const AVInputFormat* const format = told == nullptr ? nullptr : lib::av_find_input_format(told);
  // Frees the context where it fails. Without a format it asks all of its demuxers.
  const int fault = lib::avformat_open_input(&context_, nullptr, format, nullptr);
  if (fault >= 0 && unread_.empty()) return Done{};
  const Error failed = failure(kNoSuchFile, fault);
  const std::string other = failed.trouble == Trouble::kContent ? format_not_read(bytes_.from(0)) : std::string();
  return other.empty() || budget_.is_spent() ? failed : Error{Trouble::kContent, other};
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
  if (fault < 0 || budget_.is_spent() || !unread_.empty())
    return failure("the streams of the file can't be made out", fault);
  return Done{};
}

std::optional<uint64_t> Input::packets_start() {
  const int64_t at = has_looked_ ? -1 : lib::avio_seek(io_, 0, SEEK_CUR);
  return at < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(at));
}

Result<bool> Input::read(AVPacket& packet) {
  for (;;) {
    lib::av_packet_unref(&packet);
    const int fault = lib::av_read_frame(context_, &packet);
    if (fault == AVERROR_EOF && !budget_.is_spent() && unread_.empty()) return false;
    if (fault < 0) return failure("the file's streams are damaged", fault);
    if (packet.stream_index == chosen_) return true;
  }
}

}  // namespace spdld::ffmpeg
