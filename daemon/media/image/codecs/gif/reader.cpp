#include "daemon/media/image/codecs/gif/reader.h"

#include <algorithm>
#include <cstring>

namespace spdld::image {

int GifReader::read(GifFileType* gif, GifByteType* to, int count) {
  auto& [rest, last, ended] = *static_cast<Source*>(gif->UserData);
  const size_t part = count <= 0 ? 0 : std::min(static_cast<size_t>(count), rest.size());
  std::memcpy(to, rest.data(), part);
  if (part > 0) last = rest[part - 1];
  ended |= count > 0 && part < static_cast<size_t>(count);
  rest = rest.subspan(part);
  return static_cast<int>(part);
}

// The last control block before the picture counts.
bool GifReader::read_extension() {
  constexpr int kControl = 0xF9;
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(gif_.get(), &code, &block) != GIF_OK) return false;
  while (block != nullptr) {
    if (code == kControl && block[0] >= 4) {
      const bool has_transparency = (block[1] & 1) != 0;
      transparent_ = has_transparency ? std::optional<int>(block[4]) : std::nullopt;
      const int disposal = block[1] >> 2 & 7;
      if (disposal != 0)
        disposal_ = disposal == 1 ? Disposal::kKeep : disposal == 2 ? Disposal::kBackground : Disposal::kPrevious;
    }
    if (DGifGetExtensionNext(gif_.get(), &block) != GIF_OK) return false;
  }
  return true;
}

Status GifReader::find_picture() {
  int error = 0;
  gif_.reset(DGifOpen(&source_, read, &error));
  if (!gif_ && error == D_GIF_ERR_NOT_ENOUGH_MEM)
    return Error{Trouble::kMemory, "there is not enough memory to decode a GIF"};
  if (!gif_) return damaged(kGifName, "giflib can't read its header");
  const auto found = find_next();
  if (!found) return found.error();
  return *found ? Status(Done{}) : damaged(kGifName, "it has no picture");
}

// giflib reads the header, then the number of bits, and refuses more than 8.
bool GifReader::read_header() {
  wide_.reset();
  if (DGifGetImageDesc(gif_.get()) == GIF_OK) return true;
  const bool is_wide = !source_.ended && source_.last >= WideCodes::kBitsMin && source_.last <= WideCodes::kBitsMax;
  if (is_wide) wide_.emplace(source_.last, source_.rest);
  return is_wide;
}

Result<bool> GifReader::find_next() {
  const std::string which = pictures_ == 0 ? "its first picture" : "its picture " + std::to_string(pictures_);
  transparent_.reset();
  // Each record takes bytes of the file, so that the loop ends.
  for (;;) {
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    if (DGifGetRecordType(gif_.get(), &record) != GIF_OK) {
      if (pictures_ > 0 && gif_->Error == D_GIF_ERR_READ_FAILED) return false;
      return damaged(kGifName, "it ends before " + which);
    }
    if (record == TERMINATE_RECORD_TYPE) return false;
    if (record == IMAGE_DESC_RECORD_TYPE) break;
    if (!read_extension()) return damaged(kGifName, "a block before " + which + " is cut off");
  }
  if (!read_header()) return damaged(kGifName, "the header of " + which + " is cut off");
  const Box place = frame();
  if (place.width <= 0 || place.height <= 0) return damaged(kGifName, which + " has no pixels");
  ++pictures_;
  return true;
}

std::span<const GifReader::GifPass> GifReader::passes() const {
  static constexpr std::array<GifPass, 4> kInterlaced = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  static constexpr std::array<GifPass, 1> kInOrder = {{{0, 1}}};
  return gif_->Image.Interlace ? std::span<const GifPass>(kInterlaced) : std::span<const GifPass>(kInOrder);
}

GifColours GifReader::colours() const {
  GifColours colours{};
  for (int number = 0; number < 256; ++number) {
    const auto rgb = colour(number);
    const uint8_t alpha = transparent_ == number ? 0 : 255;
    colours[static_cast<size_t>(number)] = {rgb[0], rgb[1], rgb[2], alpha};
  }
  return colours;
}

Box GifReader::frame() const {
  const GifImageDesc& image = gif_->Image;
  return {image.Left, image.Top, image.Width, image.Height};
}

uint32_t GifReader::width() const {
  return static_cast<uint32_t>(std::max(gif_->SWidth, gif_->Image.Left + gif_->Image.Width));
}

uint32_t GifReader::height() const {
  return static_cast<uint32_t>(std::max(gif_->SHeight, gif_->Image.Top + gif_->Image.Height));
}

std::array<uint8_t, 3> GifReader::colour(int number) const {
  const ColorMapObject* map = gif_->Image.ColorMap != nullptr ? gif_->Image.ColorMap : gif_->SColorMap;
  const auto grey = static_cast<uint8_t>(number);
  if (map == nullptr) return {grey, grey, grey};
  if (number >= map->ColorCount) return {};
  const GifColorType& colour = map->Colors[number];
  return {colour.Red, colour.Green, colour.Blue};
}

bool GifReader::read_row(std::span<uint8_t> numbers) {
  if (wide_) return wide_->read(numbers);
  return DGifGetLine(gif_.get(), numbers.data(), static_cast<int>(numbers.size())) == GIF_OK;
}

}  // namespace spdld::image
