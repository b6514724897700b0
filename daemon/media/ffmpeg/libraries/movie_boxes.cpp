#include "daemon/media/ffmpeg/libraries/movie_boxes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace spdld::ffmpeg {
namespace {

constexpr size_t kBoxesMax = 64;                       // at the top; files have about five
constexpr uint64_t kToldBytesMax = uint64_t{1} << 28;  // of one box; 4 GB of video have some 10 MB
constexpr uint64_t kBoxHeadBytes = 16, kShortBoxHeadBytes = 8;
constexpr uint64_t kAskedBytes = 64 << 10;  // where a head has not been read: its box mostly is as short

// Boxes without anything that tells of frames.
constexpr std::array<std::string_view, 4> kPassedOver = {"mdat", "free", "skip", "wide"};
constexpr std::array<std::string_view, 6> kRead = {"ftyp", "moov", "meta", "udta", "uuid", "pdin"};

uint64_t big_endian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

bool is_among(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Box {
  std::string_view type;
  uint64_t bytes;  // with its head
};

// None: no box can stand there.
std::optional<Box> read_box(std::span<const uint8_t> head, uint64_t left) {
  const std::string_view type(reinterpret_cast<const char*>(head.data()) + 4, 4);
  uint64_t bytes = big_endian(head.first(4)), head_bytes = kShortBoxHeadBytes;
  if (bytes == 1) {
    if (head.size() < kBoxHeadBytes) return std::nullopt;
    bytes = big_endian(head.subspan(8, 8));
    head_bytes = kBoxHeadBytes;
  } else if (bytes == 0) {
    bytes = left;  // to the file's end
  }
  if (bytes < head_bytes || bytes > left) return std::nullopt;
  return Box{type, bytes};
}

}  // namespace

MovieBoxes find_movie_boxes(const ByteParts& file) {
  const MovieBoxes whole{.needs_whole = true, .unread = {}};
  MovieBoxes boxes;
  bool has_movie = false;
  uint64_t at = 0;
  for (size_t count = 0; at < file.size(); ++count) {
    const uint64_t left = file.size() - at;
    if (count == kBoxesMax || left < kShortBoxHeadBytes) return whole;
    const ByteRange head{at, std::min(left, kBoxHeadBytes)};
    if (!file.has(head)) {
      boxes.unread.push_back({at, std::min(left, kAskedBytes)});
      return boxes;  // the boxes behind it are not known yet
    }
    const std::optional<Box> box = read_box(file.at(head.offset, head.bytes), left);
    if (!box) return whole;
    has_movie |= box->type == "moov";
    if (is_among(kRead, box->type)) {
      const ByteRange told{at, box->bytes};
      if (told.bytes > kToldBytesMax) return whole;
      if (!file.has(told)) boxes.unread.push_back(told);
    } else if (!is_among(kPassedOver, box->type)) {
      return whole;
    }
    at += box->bytes;
  }
  return has_movie ? boxes : whole;
}

}  // namespace spdld::ffmpeg
