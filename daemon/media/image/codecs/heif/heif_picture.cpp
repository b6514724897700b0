#include "daemon/media/image/codecs/heif/heif_picture.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "daemon/media/image/codecs/heif/item_properties.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

constexpr uint32_t kHevc = box_kind("hvc1");

// "'tmap'", or words for kinds that writers have.
std::string words_of(uint32_t kind) {
  static constexpr std::pair<uint32_t, const char*> kWords[] = {
      {box_kind("av01"), "AV1's coding"},
      {box_kind("avc1"), "H.264's coding"},
      {box_kind("vvc1"), "H.266's coding"},
      {box_kind("evc1"), "EVC's coding"},
      {box_kind("jpeg"), "a JPEG's coding"},
      {box_kind("j2k1"), "a JPEG 2000's coding"},
      {box_kind("unci"), "samples as they are"},
      {box_kind("iovl"), "a picture that is laid upon another"},
      {box_kind("iden"), "a picture that is another one, turned or cut"},
      {box_kind("tmap"), "a picture that is another one with a tone map"},
      {box_kind("lhv1"), "layered HEVC's coding"}};
  for (const auto& [known, words] : kWords) {
    if (known == kind) return words;
  }
  std::string text = "items of the kind '";
  for (int shift = 24; shift >= 0; shift -= 8) {
    const auto letter = static_cast<char>(kind >> shift & 0xFF);
    text += letter > 0x20 && letter < 0x7F ? letter : '?';
  }
  return text + "'";
}

// ---- how a picture is cut and turned

// Quarters against the clock, and then a mirror.
struct Turn {
  enum class Mirror : uint8_t { kNone, kUpsideDown, kSideways };

  uint32_t quarters = 0;
  Mirror mirror = Mirror::kNone;

  void turn(uint32_t by) { quarters = (mirror == Mirror::kNone ? quarters + by : quarters - by) & 3; }
  void flip(Mirror by) {
    if (mirror != Mirror::kNone && mirror != by) quarters = (quarters + 2) & 3;
    mirror = mirror == Mirror::kNone ? by : Mirror::kNone;
  }
  int orientation() const {
    static constexpr int kTurned[] = {1, 8, 3, 6}, kTurnedUpsideDown[] = {4, 5, 2, 7}, kTurnedMirrored[] = {2, 7, 4, 5};
    if (mirror == Mirror::kUpsideDown) return kTurnedUpsideDown[quarters];
    return mirror == Mirror::kSideways ? kTurnedMirrored[quarters] : kTurned[quarters];
  }
};

// One side of the "clean aperture": its length and the distance of its middle from the picture's, as fractions.
struct Aperture {
  int64_t length = 0, length_parts = 0, away = 0, away_parts = 0;

  // The first pixel and the number of them; none: the border lies between pixels, or beside the picture.
  std::optional<std::pair<int, int>> in(int side) const {
    if (length_parts <= 0 || away_parts <= 0 || length % length_parts != 0) return std::nullopt;
    const int64_t pixels = length / length_parts, twice_away = 2 * away;
    if (twice_away % away_parts != 0 || pixels <= 0 || pixels > side) return std::nullopt;
    const int64_t twice_first = twice_away / away_parts + side - pixels;
    if (twice_first < 0 || twice_first % 2 != 0 || twice_first / 2 + pixels > side) return std::nullopt;
    return std::pair(static_cast<int>(twice_first / 2), static_cast<int>(pixels));
  }
};

Aperture aperture_at(Span clap, size_t length_at, size_t away_at) {
  const auto number = [&](size_t at) { return int64_t{box_number(clap, at, 4)}; };
  return {number(length_at), number(length_at + 4), static_cast<int32_t>(box_number(clap, away_at, 4)),
          number(away_at + 4)};
}

std::optional<Box> aperture_of(Span clap, const Size& size) {
  const auto across = aperture_at(clap, 0, 16).in(size.width), down = aperture_at(clap, 8, 24).in(size.height);
  if (!across || !down) return std::nullopt;
  return Box{across->first, down->first, across->second, down->second};
}

// ---- the items

std::optional<CodedColours> coded_colours(Span colr) {
  if (box_number(colr, 0, 4) != box_kind("nclx")) return std::nullopt;
  return CodedColours{box_number(colr, 8, 2), (box_number(colr, 10, 1) & 0x80) != 0};
}

// None: no picture has such a size.
std::optional<Size> size_of(uint32_t width, uint32_t height) {
  constexpr uint32_t kMost = 1 << 30;
  if (width == 0 || height == 0 || width > kMost || height > kMost) return std::nullopt;
  return Size{static_cast<int>(width), static_cast<int>(height)};
}

class Reading {
 public:
  Reading(Span file, Span meta, bool wants_alpha)
      : file_(file), meta_(meta), wants_alpha_(wants_alpha), items_(file_items(meta)), facts_(file, meta, needed()) {}

  Result<HeifPicture> read() {
    HeifPicture picture;
    if (items_.has_multiplied) return not_decoded(kHeicName, "colours that are multiplied by alpha");
    auto colours = cells_of(items_.primary);
    if (!colours) return colours.error();
    picture.colours = std::move(*colours);
    if (const Status shaped = shape(picture); !shaped) return shaped.error();
    if (!wants_alpha_) return picture;
    if (const auto alpha = alpha_of(items_.primary)) {
      auto cells = cells_of(*alpha);
      if (!cells) return cells.error();
      if (!(cells->size == picture.colours.size)) return not_decoded(kHeicName, "an alpha of another size");
      picture.alpha = std::move(*cells);
    } else if (const auto& parts = items_.parts_of(items_.primary);
               !parts.empty() && alpha_of(parts.front()).has_value()) {
      return not_decoded(kHeicName, "a grid whose cells have an alpha each");
    }
    return picture;
  }

 private:
  // The picture, what belongs to it, and the cells of all these.
  std::vector<uint32_t> needed() const {
    std::vector<uint32_t> ids = {items_.primary};
    const auto add = [&](const std::vector<uint32_t>& more) { ids.insert(ids.end(), more.begin(), more.end()); };
    if (wants_alpha_) add(items_.auxiliaries_of(items_.primary));
    for (size_t i = 0, count = ids.size(); i < count; ++i) {
      const std::vector<uint32_t>& parts = items_.parts_of(ids[i]);
      add(parts);
      if (wants_alpha_ && !parts.empty()) add(items_.auxiliaries_of(parts.front()));
    }
    return ids;
  }

  std::optional<uint32_t> alpha_of(uint32_t item) const {
    for (const uint32_t auxiliary : items_.auxiliaries_of(item)) {
      const FileBox* const kind = facts_.property(auxiliary, box_kind("auxC"));
      if (kind != nullptr && is_alpha_kind(text_at(behind(kind->content, kFullBoxBytes)))) return auxiliary;
    }
    return std::nullopt;
  }

  // Refuses an item that has an essential property which is unknown here.
  Status check_known(uint32_t item) const {
    static constexpr std::array kKnown = {box_kind("ispe"), box_kind("hvcC"), box_kind("colr"),
                                          box_kind("irot"), box_kind("imir"), box_kind("clap"),
                                          box_kind("pixi"), box_kind("auxC"), box_kind("pasp")};
    for (const ItemProperty& property : facts_.properties(item)) {
      const bool is_known = std::find(kKnown.begin(), kKnown.end(), property.box.kind) != kKnown.end();
      if (property.is_essential && !is_known) return not_decoded(kHeicName, words_of(property.box.kind));
    }
    return Done{};
  }

  Result<Size> told_size(uint32_t item) const {
    const FileBox* const told = facts_.property(item, box_kind("ispe"));
    if (told == nullptr) return damaged(kHeicName, "it does not tell its size");
    const auto size =
        size_of(box_number(told->content, kFullBoxBytes, 4), box_number(told->content, kFullBoxBytes + 4, 4));
    if (!size) return damaged(kHeicName, "its header claims no pixels");
    return *size;
  }

  Result<CodedItem> coded(uint32_t item) const {
    if (items_.kind_of(item) != kHevc) return not_decoded(kHeicName, words_of(items_.kind_of(item)));
    if (const Status known = check_known(item); !known) return known.error();
    const FileBox* const header = facts_.property(item, box_kind("hvcC"));
    if (header == nullptr) return damaged(kHeicName, "a part of it has no header of HEVC");
    const auto size = told_size(item);
    if (!size) return size.error();
    const ItemPlace& place = facts_.place(item);
    if (place.is_derived) return not_decoded(kHeicName, "an item that lies in other items");
    if (place.is_cut) return cut_off(kHeicName);
    if (place.extents.empty()) return damaged(kHeicName, "it does not tell where its data lies");
    return CodedItem{*size, header->content, place.extents};
  }

  std::optional<CodedColours> colours_of(uint32_t item) const {
    for (const ItemProperty& property : facts_.properties(item)) {
      if (property.box.kind != box_kind("colr")) continue;
      if (const auto colours = coded_colours(property.box.content)) return colours;
    }
    return std::nullopt;
  }

  Result<CellPicture> cells_of(uint32_t item) const {
    CellPicture picture;
    const bool is_grid = items_.is_grid(item);
    std::vector<uint32_t> cells = {item};
    if (is_grid) {
      if (const Status known = check_known(item); !known) return known.error();
      if (const Status read = read_grid(item, picture); !read) return read.error();
      cells = items_.parts_of(item);
      if (cells.size() != static_cast<size_t>(picture.columns) * static_cast<size_t>(picture.rows))
        return damaged(kHeicName, "its grid has another number of cells than it tells");
    }
    std::unordered_map<uint32_t, uint32_t> numbers;
    for (const uint32_t cell : cells) {
      const auto [number, is_new] = numbers.try_emplace(cell, static_cast<uint32_t>(picture.items.size()));
      picture.cells.push_back(number->second);
      if (!is_new) continue;
      auto part = coded(cell);
      if (!part) return part.error();
      if (picture.items.empty()) picture.cell = part->size;
      if (!(part->size == picture.cell)) return damaged(kHeicName, "the cells of its grid have several sizes");
      picture.items.push_back(std::move(*part));
    }
    if (!is_grid) picture.size = picture.cell;
    const auto reaches = [](int count, int cell, int side) { return int64_t{count} * cell >= side; };
    if (!reaches(picture.columns, picture.cell.width, picture.size.width) ||
        !reaches(picture.rows, picture.cell.height, picture.size.height))
      return damaged(kHeicName, "the cells of its grid do not fill it");
    picture.colours = colours_of(item);
    if (!picture.colours) picture.colours = colours_of(cells.front());
    return picture;
  }

  // 6.6.2.3.2
  Status read_grid(uint32_t item, CellPicture& picture) const {
    constexpr size_t kBytesMax = 12;
    const ItemPlace& place = facts_.place(item);
    if (place.is_derived) return not_decoded(kHeicName, "an item that lies in other items");
    if (place.is_cut) return cut_off(kHeicName);
    std::vector<uint8_t> told;
    for (const Span extent : place.extents) {
      const Span some = extent.first(std::min(extent.size(), kBytesMax - told.size()));
      told.insert(told.end(), some.begin(), some.end());
    }
    const size_t number_bytes = (box_number(told, 1, 1) & 1) == 0 ? 2 : 4;
    if (told.size() < 4 + 2 * number_bytes) return damaged(kHeicName, "its grid does not tell its size");
    const auto size = size_of(box_number(told, 4, number_bytes), box_number(told, 4 + number_bytes, number_bytes));
    if (!size) return damaged(kHeicName, "its grid claims no pixels");
    picture.rows = static_cast<int>(told[2]) + 1;
    picture.columns = static_cast<int>(told[3]) + 1;
    picture.size = *size;
    return Done{};
  }

  // The cut comes before all turns (ISO/IEC 23000-22, 7.3.6.7).
  Status shape(HeifPicture& picture) const {
    const Size& size = picture.colours.size;
    picture.shown = {0, 0, size.width, size.height};
    Turn turn;
    bool is_turned = false;
    for (const ItemProperty& property : facts_.properties(items_.primary)) {
      const Span content = property.box.content;
      if (property.box.kind == box_kind("irot")) turn.turn(box_number(content, 0, 1) & 3);
      if (property.box.kind == box_kind("imir"))
        turn.flip((box_number(content, 0, 1) & 1) == 0 ? Turn::Mirror::kUpsideDown : Turn::Mirror::kSideways);
      is_turned = is_turned || property.box.kind == box_kind("irot") || property.box.kind == box_kind("imir");
      if (property.box.kind == box_kind("clap")) {
        const auto shown = is_turned ? std::nullopt : aperture_of(content, size);
        if (!shown) return not_decoded(kHeicName, "a clean aperture that does not lie on its pixels");
        picture.shown = *shown;
      }
      const uint32_t colours = box_number(content, 0, 4);
      if (property.box.kind == box_kind("colr") && (colours == box_kind("prof") || colours == box_kind("rICC")))
        picture.profile = behind(content, 4);
    }
    picture.orientation = turn.orientation();
    return Done{};
  }

  const Span file_, meta_;
  const bool wants_alpha_;
  const FileItems items_;
  const ItemFacts facts_;
};

}  // namespace

Result<HeifPicture> heif_picture(std::span<const uint8_t> bytes, bool wants_alpha) {
  const Span meta = find_box(bytes, box_kind("meta"));
  if (meta.empty()) {
    if (!find_box(bytes, box_kind("moov")).empty())
      return not_decoded(kHeicName, "a track of pictures, and no still one");
    return cut_off(kHeicName);
  }
  return Reading(bytes, meta, wants_alpha).read();
}

}  // namespace spdld::image
