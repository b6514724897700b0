#include "daemon/media/image/avif/library_faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/media/image/file_boxes.h"
#include "daemon/media/image/stored_codec.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

// The first releases that do better, by their lists of changes.
constexpr AvifRelease kCellsWithAlpha{1, 0, 0}, kCellsInOrder{1, 1, 1}, kOtherTracks{1, 2, 0};

constexpr size_t kFullBox = 4;  // the version and the flags that many boxes begin with

Span behind(Span bytes, size_t count) { return bytes.subspan(std::min(count, bytes.size())); }

// ---- items

// A grid has at most 256 x 256 cells. No more items or references than these are looked at.
constexpr size_t kItemsMax = 1 << 18;

struct Items {
  uint32_t primary = 0;
  std::unordered_set<uint32_t> grids;
  std::unordered_map<uint32_t, size_t> places;                // in the order in which a reader of the boxes meets them
  std::unordered_map<uint32_t, std::vector<uint32_t>> parts;  // of an item that is made of others, in order
  std::unordered_map<uint32_t, uint32_t> uses;                // how often an item is such a part
  std::unordered_map<uint32_t, std::vector<uint32_t>> auxiliaries;  // of an item, such as its alpha
  size_t references = 0;

  void meet(uint32_t id) {
    if (places.size() < kItemsMax) places.try_emplace(id, places.size());
  }
  void refer(uint32_t kind, uint32_t from, uint32_t to) {
    if (++references > kItemsMax) return;
    if (kind == box_kind("auxl")) auxiliaries[to].push_back(from);
    if (kind != box_kind("dimg")) return;
    meet(to);
    parts[from].push_back(to);
    ++uses[to];
  }
};

const std::vector<uint32_t>& list_of(const std::unordered_map<uint32_t, std::vector<uint32_t>>& lists, uint32_t id) {
  static const std::vector<uint32_t> kNone;
  const auto found = lists.find(id);
  return found == lists.end() ? kNone : found->second;
}

void read_places(Span iloc, Items& items) {
  const uint32_t version = box_number(iloc, 0, 1), sizes = box_number(iloc, kFullBox, 2);
  const size_t id_bytes = version < 2 ? 2 : 4, method_bytes = version == 0 ? 0 : 2;
  const size_t offset_bytes = sizes >> 12 & 15, length_bytes = sizes >> 8 & 15, base_bytes = sizes >> 4 & 15;
  const size_t index_bytes = version == 0 ? 0 : sizes & 15;
  const uint32_t count = box_number(iloc, kFullBox + 2, id_bytes);
  size_t at = kFullBox + 2 + id_bytes;
  for (uint32_t i = 0; i < count && at < iloc.size(); ++i) {
    items.meet(box_number(iloc, at, id_bytes));
    at += id_bytes + method_bytes + 2 + base_bytes;
    at += 2 + size_t{box_number(iloc, at, 2)} * (index_bytes + offset_bytes + length_bytes);
  }
}

void read_kinds(Span iinf, Items& items) {
  const size_t count_bytes = box_number(iinf, 0, 1) == 0 ? 2 : 4;
  for_each_box(behind(iinf, kFullBox + count_bytes), [&](const FileBox& box) {
    const uint32_t version = box_number(box.content, 0, 1);
    if (box.kind != box_kind("infe") || version < 2) return;
    const size_t id_bytes = version == 2 ? 2 : 4;
    const uint32_t id = box_number(box.content, kFullBox, id_bytes);
    items.meet(id);
    if (box_number(box.content, kFullBox + id_bytes + 2, 4) == box_kind("grid")) items.grids.insert(id);
  });
}

void read_references(Span iref, Items& items) {
  const size_t id_bytes = box_number(iref, 0, 1) == 0 ? 2 : 4;
  for_each_box(behind(iref, kFullBox), [&](const FileBox& box) {
    const uint32_t from = box_number(box.content, 0, id_bytes);
    const size_t count = box_number(box.content, id_bytes, 2), first = id_bytes + 2;
    items.meet(from);
    for (size_t i = 0; i < count && first + (i + 1) * id_bytes <= box.content.size(); ++i)
      items.refer(box.kind, from, box_number(box.content, first + i * id_bytes, id_bytes));
  });
}

Items items_of(Span meta) {
  Items items;
  for_each_box(behind(meta, kFullBox), [&](const FileBox& box) {
    if (box.kind == box_kind("pitm"))
      items.primary = box_number(box.content, kFullBox, box_number(box.content, 0, 1) == 0 ? 2 : 4);
    if (box.kind == box_kind("iloc")) read_places(box.content, items);
    if (box.kind == box_kind("iinf")) read_kinds(box.content, items);
    if (box.kind == box_kind("iref")) read_references(box.content, items);
  });
  return items;
}

// The library takes the cells of a grid in the order of the file's items, and each item once.
bool is_mixed_up(const Items& items, uint32_t id) {
  if (!items.grids.contains(id)) return false;
  const std::vector<uint32_t>& cells = list_of(items.parts, id);
  const auto place = [&](uint32_t cell) {
    const auto found = items.places.find(cell);
    return found == items.places.end() ? kItemsMax : found->second;
  };
  const bool is_shared =
      std::any_of(cells.begin(), cells.end(), [&](uint32_t cell) { return items.uses.at(cell) > 1; });
  return is_shared || !std::is_sorted(cells.begin(), cells.end(),
                                      [&](uint32_t one, uint32_t other) { return place(one) < place(other); });
}

Error known_fault(const std::string& what, const AvifRelease& release, const AvifRelease& better) {
  return {Trouble::kUnsupported, "an AVIF with " + what + ": libavif " + release.text() +
                                     ", which this spdld uses, gets that wrong, and libavif " + better.text() +
                                     " does not"};
}

std::optional<Error> fault_of_items(const Items& items, bool wants_alpha, const AvifRelease& release) {
  const std::vector<uint32_t>& auxiliaries = list_of(items.auxiliaries, items.primary);
  const auto is_wrong = [&](uint32_t id) { return is_mixed_up(items, id); };
  const bool has_wrong_alpha = wants_alpha && std::any_of(auxiliaries.begin(), auxiliaries.end(), is_wrong);
  if (release < kCellsInOrder && (is_wrong(items.primary) || has_wrong_alpha))
    return known_fault("a grid whose cells have another order than the file's items", release, kCellsInOrder);
  const std::vector<uint32_t>& cells = list_of(items.parts, items.primary);
  const bool has_alpha_in_cells = items.grids.contains(items.primary) && auxiliaries.empty() && !cells.empty() &&
                                  items.auxiliaries.contains(cells.front());
  if (release < kCellsWithAlpha && wants_alpha && has_alpha_in_cells)
    return known_fault("a grid whose cells have an alpha each", release, kCellsWithAlpha);
  return std::nullopt;
}

// ---- tracks

struct Track {
  uint32_t id = 0, auxiliary_to = 0, coding = 0;
  bool has_size = true, has_chunks = false;
  std::string_view auxiliary_kind;  // empty: it is not told
};

std::string_view text_at(Span bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

void read_header(Span tkhd, Track& track) {
  const bool is_long = box_number(tkhd, 0, 1) == 1;
  track.id = box_number(tkhd, is_long ? 20 : 12, 4);
  const size_t sizes = is_long ? 88 : 76;
  track.has_size = box_number(tkhd, sizes, 4) >> 16 != 0 && box_number(tkhd, sizes + 4, 4) >> 16 != 0;
}

void read_table(Span stbl, Track& track) {
  constexpr size_t kEntries = kFullBox + 4, kVisualBytes = 78;  // before the boxes of an entry for pictures
  for (const uint32_t kind : {box_kind("stco"), box_kind("co64")}) {
    const Span chunks = find_box(stbl, kind);
    track.has_chunks = track.has_chunks || box_number(chunks, kFullBox, 4) > 0;
  }
  const auto entry = first_box(behind(find_box(stbl, box_kind("stsd")), kEntries));
  if (!entry) return;
  track.coding = entry->kind;
  const Span told = find_box(behind(entry->content, kVisualBytes), box_kind("auxi"));
  track.auxiliary_kind = text_at(behind(told, kFullBox));
}

Track track_of(Span trak) {
  Track track;
  if (const Span header = find_box(trak, box_kind("tkhd")); !header.empty()) read_header(header, track);
  track.auxiliary_to = box_number(find_box(find_box(trak, box_kind("tref")), box_kind("auxl")), 0, 4);
  const Span information = find_box(find_box(trak, box_kind("mdia")), box_kind("minf"));
  read_table(find_box(information, box_kind("stbl")), track);
  return track;
}

// A track that belongs to another one is its alpha, if it does not say what it is.
bool is_alpha(std::string_view kind) {
  constexpr std::array<std::string_view, 3> kAlpha = {"", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                                      "urn:mpeg:hevc:2015:auxid:1"};
  return std::find(kAlpha.begin(), kAlpha.end(), kind) != kAlpha.end();
}

std::optional<Error> fault_of_tracks(Span moov, bool wants_alpha, const AvifRelease& release) {
  std::vector<Track> tracks;
  for_each_box(moov, [&](const FileBox& box) {
    if (box.kind == box_kind("trak")) tracks.push_back(track_of(box.content));
  });
  if (std::any_of(tracks.begin(), tracks.end(), [](const Track& track) { return !track.has_size; }))
    return known_fault("a track that is no picture, such as sound", release, kOtherTracks);
  const auto is_shown = [](const Track& track) {
    return track.id != 0 && track.has_chunks && track.coding == box_kind("av01");
  };
  const auto colours = std::find_if(tracks.begin(), tracks.end(),
                                    [&](const Track& track) { return is_shown(track) && track.auxiliary_to == 0; });
  if (!wants_alpha || colours == tracks.end()) return std::nullopt;
  const auto taken = std::find_if(tracks.begin(), tracks.end(), [&](const Track& track) {
    return is_shown(track) && track.auxiliary_to == colours->id;
  });
  if (taken == tracks.end() || is_alpha(taken->auxiliary_kind)) return std::nullopt;
  return known_fault("a track beside its colours that is no alpha, such as depth", release, kOtherTracks);
}

}  // namespace

std::string AvifRelease::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

AvifRelease avif_release_of(std::string_view version) {
  AvifRelease release;
  for (int* number : {&release.major, &release.minor, &release.patch}) {
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), *number);
    if (error != std::errc()) break;
    version.remove_prefix(static_cast<size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return release;
}

std::optional<Error> avif_fault(std::span<const uint8_t> avif, bool wants_alpha, const AvifRelease& release) {
  if (release >= kOtherTracks) return std::nullopt;  // the latest of all
  const Span moov = find_box(avif, box_kind("moov"));
  if (!moov.empty()) {
    if (auto fault = fault_of_tracks(moov, wants_alpha, release)) return fault;
  }
  // The library shows the tracks, where there are some, unless the file is an AVIF first of all.
  const bool shows_tracks = !moov.empty() && box_number(find_box(avif, box_kind("ftyp")), 0, 4) != box_kind("avif");
  if (shows_tracks) return std::nullopt;
  return fault_of_items(items_of(find_box(avif, box_kind("meta"))), wants_alpha, release);
}

}  // namespace spdld::image
