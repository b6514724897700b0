#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "daemon/media/ffmpeg/pictures/still_decoder.h"
#include "daemon/media/image/codecs/heif/heif_picture.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

ffmpeg::StillGrid grid_of(const CellPicture& picture, bool is_alpha) {
  ffmpeg::StillGrid grid{picture.size, picture.cell, picture.columns, picture.rows, std::nullopt, is_alpha};
  if (picture.colours) grid.colours = ffmpeg::StillColours{picture.colours->matrix, picture.colours->is_full_range};
  return grid;
}

ffmpeg::StillMemory memory_of(const CellPicture& picture, bool is_alpha) {
  return ffmpeg::still_memory(grid_of(picture, is_alpha), picture.items.front().header);
}

// The sentences of a decoder that knows no formats.
Error named(const Error& error) {
  if (error.trouble == Trouble::kContent) return damaged(kHeicName, error.message);
  if (error.trouble == Trouble::kUnsupported) return not_decoded(kHeicName, error.message);
  return error;
}

class HeifCodec final : public StoredCodec {
 public:
  explicit HeifCodec(const media::DecodeLimits& limits) : limits_(limits) {}

  const char* name() const override { return kHeicName; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Result<ColourProfile> profile() override {
    return profile_of(kHeicName, picture_.profile.data(), picture_.profile.size(), false);
  }
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;

 private:
  Status decode_cells(const CellPicture& picture, bool is_alpha, CpuWatch& watch, PixelRows& rows);
  void join(const PixelRows& colours, const PixelRows& alpha, PixelRows& rows) const;

  const media::DecodeLimits limits_;
  HeifPicture picture_;
  std::vector<uint8_t> joined_;  // the data of an item that lies in several pieces
};

Result<StoredOutline> HeifCodec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  auto picture = heif_picture(bytes, wanted.colours == Colours::kRgba);
  if (!picture) return picture.error();
  picture_ = std::move(*picture);
  const CellPicture& colours = picture_.colours;
  const bool has_alpha = picture_.alpha.has_value();
  // Rows of the whole picture and of alpha may come beside the rows that are given.
  const uint64_t whole =
      static_cast<uint64_t>(colours.size.width) * static_cast<uint64_t>(colours.size.height) * (has_alpha ? 4 : 3);
  ffmpeg::StillMemory memory = memory_of(colours, false);
  if (has_alpha) {
    const ffmpeg::StillMemory more = memory_of(*picture_.alpha, true);
    memory.bytes += more.bytes;
    memory.frame_bytes += more.frame_bytes;
  }
  const uint64_t data_bytes = bytes.size();  // an item's pieces may be joined
  StoredOutline outline;
  outline.width = static_cast<uint32_t>(picture_.shown.width);
  outline.height = static_cast<uint32_t>(picture_.shown.height);
  outline.orientation = picture_.orientation;
  outline.format = {has_alpha ? 4 : 3, 1};
  outline.library_bytes = memory.bytes + whole + data_bytes;
  outline.likely_bytes = outline.library_bytes - memory.frame_bytes;
  return outline;
}

// All cells are decoded whatever box is needed, so that the verdict does not depend on it.
Status HeifCodec::decode_cells(const CellPicture& picture, bool is_alpha, CpuWatch& watch, PixelRows& rows) try {
  const uint64_t blocks =
      static_cast<uint64_t>(picture.cell.width) * static_cast<uint64_t>(picture.cell.height) / 64 + 1;
  ffmpeg::StillDecoder decoder(grid_of(picture, is_alpha), limits_);
  for (const uint32_t number : picture.cells) {
    if (watch.is_over(blocks)) return costs_too_much(kHeicName, kTooMuchCpuTime);
    const CodedItem& item = picture.items[number];
    std::span<const uint8_t> data = item.extents.front();
    if (item.extents.size() > 1) {
      joined_.clear();
      for (const auto extent : item.extents) joined_.insert(joined_.end(), extent.begin(), extent.end());
      data = joined_;
    }
    if (const Status added = decoder.add({item.header, data}); !added) return named(added.error());
  }
  if (watch.is_over(blocks)) return costs_too_much(kHeicName, kTooMuchCpuTime);
  const Status finished = decoder.finish(rows);
  return finished ? finished : Status(named(finished.error()));
} catch (const SetupError& error) {
  return error.error();  // FFmpeg's libraries are missing
}

Status HeifCodec::decode(const Box&, CpuWatch& watch, PixelRows& rows) {
  const PixelFormat format = rows.format;
  PixelRows colours, alpha;
  PixelRows& whole = picture_.alpha ? colours : rows;
  if (const Status decoded = decode_cells(picture_.colours, false, watch, whole); !decoded) return decoded;
  if (picture_.alpha) {
    if (const Status decoded = decode_cells(*picture_.alpha, true, watch, alpha); !decoded) return decoded;
    rows.format = format;
    join(colours, alpha, rows);
  }
  const Box& shown = picture_.shown;
  rows.picture = {shown.width, shown.height};
  rows.covers = {0, 0, shown.width, shown.height};
  rows.offset += rows.stride_bytes * static_cast<size_t>(shown.y) +
                 static_cast<size_t>(shown.x) * static_cast<size_t>(rows.format.pixel_bytes());
  joined_.clear();
  joined_.shrink_to_fit();
  return Done{};
}

void HeifCodec::join(const PixelRows& colours, const PixelRows& alpha, PixelRows& rows) const {
  const Size& size = picture_.colours.size;
  uint8_t* out = cover({0, 0, size.width, size.height}, rows);
  for (int y = 0; y < size.height; ++y) {
    const auto row = static_cast<size_t>(y);
    const uint8_t* rgb = colours.memory.data() + colours.offset + colours.stride_bytes * row;
    const uint8_t* opaque = alpha.memory.data() + alpha.offset + alpha.stride_bytes * row;
    for (int x = 0; x < size.width; ++x, rgb += 3, out += 4) {
      std::memcpy(out, rgb, 3);
      out[3] = *opaque++;
    }
  }
}

}  // namespace

std::unique_ptr<ImageDecoder> make_heif_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<HeifCodec>(limits), limits);
}

std::string heif_code() { return "HEIC by " + ffmpeg::still_code(); }

}  // namespace spdld::image
