#include "daemon/media/image/codecs/file_items.h"

#include <algorithm>
#include <utility>

#include "daemon/media/image/codecs/file_boxes.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

class Reader {
 public:
  FileItems items;

  void read(const FileBox& box) {
    if (box.kind == box_kind("pitm"))
      items.primary = box_number(box.content, kFullBoxBytes, box_number(box.content, 0, 1) == 0 ? 2 : 4);
    if (box.kind == box_kind("iloc")) read_places(box.content);
    if (box.kind == box_kind("iinf")) read_kinds(box.content);
    if (box.kind == box_kind("iref")) read_references(box.content);
  }

 private:
  void meet(uint32_t id) {
    if (items.places.size() < FileItems::kMost) items.places.try_emplace(id, items.places.size());
  }

  void refer(uint32_t kind, uint32_t from, uint32_t to) {
    if (++references_ > FileItems::kMost) return;
    if (kind == box_kind("auxl")) items.auxiliaries[to].push_back(from);
    if (kind == box_kind("prem")) items.has_multiplied = true;
    if (kind != box_kind("dimg")) return;
    meet(to);
    items.parts[from].push_back(to);
    ++items.uses[to];
  }

  void read_places(Span iloc) {
    const uint32_t version = box_number(iloc, 0, 1), sizes = box_number(iloc, kFullBoxBytes, 2);
    const size_t id_bytes = version < 2 ? 2 : 4, method_bytes = version == 0 ? 0 : 2;
    const size_t offset_bytes = sizes >> 12 & 15, length_bytes = sizes >> 8 & 15, base_bytes = sizes >> 4 & 15;
    const size_t index_bytes = version == 0 ? 0 : sizes & 15;
    const uint32_t count = box_number(iloc, kFullBoxBytes + 2, id_bytes);
    size_t at = kFullBoxBytes + 2 + id_bytes;
    for (uint32_t i = 0; i < count && at < iloc.size(); ++i) {
      meet(box_number(iloc, at, id_bytes));
      at += id_bytes + method_bytes + 2 + base_bytes;
      at += 2 + size_t{box_number(iloc, at, 2)} * (index_bytes + offset_bytes + length_bytes);
    }
  }

  void read_kinds(Span iinf) {
    const size_t count_bytes = box_number(iinf, 0, 1) == 0 ? 2 : 4;
    for_each_box(behind(iinf, kFullBoxBytes + count_bytes), [&](const FileBox& box) {
      const uint32_t version = box_number(box.content, 0, 1);
      if (box.kind != box_kind("infe") || version < 2) return;
      const size_t id_bytes = version == 2 ? 2 : 4;
      const uint32_t id = box_number(box.content, kFullBoxBytes, id_bytes);
      meet(id);
      if (items.kinds.size() < FileItems::kMost)
        items.kinds[id] = box_number(box.content, kFullBoxBytes + id_bytes + 2, 4);
    });
  }

  void read_references(Span iref) {
    const size_t id_bytes = box_number(iref, 0, 1) == 0 ? 2 : 4;
    for_each_box(behind(iref, kFullBoxBytes), [&](const FileBox& box) {
      const uint32_t from = box_number(box.content, 0, id_bytes);
      const size_t count = box_number(box.content, id_bytes, 2), first = id_bytes + 2;
      meet(from);
      for (size_t i = 0; i < count && first + (i + 1) * id_bytes <= box.content.size(); ++i)
        refer(box.kind, from, box_number(box.content, first + i * id_bytes, id_bytes));
    });
  }

  size_t references_ = 0;
};

const std::vector<uint32_t>& list_of(const std::unordered_map<uint32_t, std::vector<uint32_t>>& lists, uint32_t id) {
  static const std::vector<uint32_t> kNone;
  const auto found = lists.find(id);
  return found == lists.end() ? kNone : found->second;
}

}  // namespace

std::span<const uint8_t> behind(std::span<const uint8_t> bytes, size_t count) {
  return bytes.subspan(std::min(count, bytes.size()));
}

std::string_view text_at(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

uint32_t FileItems::kind_of(uint32_t id) const {
  const auto found = kinds.find(id);
  return found == kinds.end() ? 0 : found->second;
}
bool FileItems::is_grid(uint32_t id) const { return kind_of(id) == box_kind("grid"); }
const std::vector<uint32_t>& FileItems::parts_of(uint32_t id) const { return list_of(parts, id); }
const std::vector<uint32_t>& FileItems::auxiliaries_of(uint32_t id) const { return list_of(auxiliaries, id); }

FileItems file_items(std::span<const uint8_t> meta) {
  Reader reader;
  for_each_box(behind(meta, kFullBoxBytes), [&](const FileBox& box) { reader.read(box); });
  return std::move(reader.items);
}

bool is_alpha_kind(std::string_view kind) {
  return kind == "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha" || kind == "urn:mpeg:hevc:2015:auxid:1";
}

}  // namespace spdld::image
