#include "daemon/media/image/codecs/avif/library_faults.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "daemon/media/image/codecs/file_boxes.h"
#include "daemon/media/image/codecs/file_items.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

// The first releases that do better, by their lists of changes.
constexpr AvifRelease kCellsWithAlpha{1, 0, 0}, kCellsInOrder{1, 1, 1}, kOtherTracks{1, 2, 0};

// ---- items

// The library takes the cells of a grid in the order of the file's items, and each item once.
bool is_mixed_up(const FileItems& items, uint32_t id) {
  if (!items.is_grid(id)) return false;
  const std::vector<uint32_t>& cells = items.parts_of(id);
  const auto place = [&](uint32_t cell) {
    const auto found = items.places.find(cell);
    return found == items.places.end() ? FileItems::kMost : found->second;
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

std::optional<Error> fault_of_items(const FileItems& items, bool wants_alpha, const AvifRelease& release) {
  const std::vector<uint32_t>& auxiliaries = items.auxiliaries_of(items.primary);
  const auto is_wrong = [&](uint32_t id) { return is_mixed_up(items, id); };
  const bool has_wrong_alpha = wants_alpha && std::any_of(auxiliaries.begin(), auxiliaries.end(), is_wrong);
  if (release < kCellsInOrder && (is_wrong(items.primary) || has_wrong_alpha))
    return known_fault("a grid whose cells have another order than the file's items", release, kCellsInOrder);
  const std::vector<uint32_t>& cells = items.parts_of(items.primary);
  const bool has_alpha_in_cells = items.is_grid(items.primary) && auxiliaries.empty() && !cells.empty() &&
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

void read_header(Span tkhd, Track& track) {
  const bool is_long = box_number(tkhd, 0, 1) == 1;
  track.id = box_number(tkhd, is_long ? 20 : 12, 4);
  const size_t sizes = is_long ? 88 : 76;
  track.has_size = box_number(tkhd, sizes, 4) >> 16 != 0 && box_number(tkhd, sizes + 4, 4) >> 16 != 0;
}

void read_table(Span stbl, Track& track) {
  constexpr size_t kEntries = kFullBoxBytes + 4, kVisualBytes = 78;  // before the boxes of an entry for pictures
  for (const uint32_t kind : {box_kind("stco"), box_kind("co64")}) {
    const Span chunks = find_box(stbl, kind);
    track.has_chunks = track.has_chunks || box_number(chunks, kFullBoxBytes, 4) > 0;
  }
  const auto entry = first_box(behind(find_box(stbl, box_kind("stsd")), kEntries));
  if (!entry) return;
  track.coding = entry->kind;
  const Span told = find_box(behind(entry->content, kVisualBytes), box_kind("auxi"));
  track.auxiliary_kind = text_at(behind(told, kFullBoxBytes));
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
bool is_alpha(std::string_view kind) { return kind.empty() || is_alpha_kind(kind); }

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
  return fault_of_items(file_items(find_box(avif, box_kind("meta"))), wants_alpha, release);
}

}  // namespace spdld::image
