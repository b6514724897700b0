#include "daemon/media/image/codecs/heif/item_properties.h"

#include <algorithm>

#include "daemon/media/image/codecs/file_items.h"

namespace spdld::image {
namespace {

using Span = std::span<const uint8_t>;

constexpr size_t kPropertiesMax = 1 << 15;                           // ipma can name no more
constexpr size_t kExtentsMax = 1 << 18, kAssociationsMax = 1 << 20;  // of a file

// Numbers that stand one behind the other.
class Numbers {
 public:
  Numbers(Span bytes, size_t at) : bytes_(bytes), at_(at) {}
  bool is_over() const { return at_ >= bytes_.size(); }
  uint64_t next(size_t length) {
    uint64_t value = 0;
    for (const size_t end = at_ + length; at_ < end; ++at_) value = value << 8 | box_number(bytes_, at_, 1);
    return value;
  }

 private:
  Span bytes_;
  size_t at_;
};

// How many bytes the numbers of a place take.
struct PlaceSizes {
  size_t offset = 0, length = 0, base = 0, index = 0;
};

ItemPlace read_place(Numbers& numbers, const PlaceSizes& sizes, uint32_t version, Span file, Span idat,
                     size_t& extents) {
  ItemPlace place;
  place.is_known = true;
  const uint64_t method = version == 0 ? 0 : numbers.next(2) & 15;
  place.is_derived = method > 1;
  numbers.next(2);  // the number of the file, which is this one
  const Span in = method == 1 ? idat : file;
  const uint64_t base = numbers.next(sizes.base), count = numbers.next(2);
  uint64_t whole = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (++extents > kExtentsMax) {
      place.is_cut = true;
      break;
    }
    numbers.next(sizes.index);
    const uint64_t offset = numbers.next(sizes.offset), length = numbers.next(sizes.length);
    const uint64_t start = base + offset;
    const bool is_inside = start >= base && start <= in.size();
    const uint64_t room = is_inside ? in.size() - start : 0;
    const uint64_t bytes = length == 0 ? room : std::min(length, room);  // 0: to the end
    place.is_cut = place.is_cut || !is_inside || length > room;
    whole += bytes;
    // Extents of one item do not lie upon one another, so that an item is no larger than what holds it.
    if (whole > in.size()) place.is_cut = true;
    if (place.is_cut) continue;
    place.extents.push_back(in.subspan(static_cast<size_t>(start), static_cast<size_t>(bytes)));
  }
  return place;
}

}  // namespace

ItemFacts::ItemFacts(std::span<const uint8_t> file, std::span<const uint8_t> meta, std::span<const uint32_t> items) {
  for (const uint32_t item : items) facts_[item];
  const Span boxes = behind(meta, kFullBoxBytes);
  read_properties(find_box(boxes, box_kind("iprp")));
  read_places(file, find_box(boxes, box_kind("idat")), find_box(boxes, box_kind("iloc")));
}

const std::vector<ItemProperty>& ItemFacts::properties(uint32_t item) const {
  const auto found = facts_.find(item);
  return found == facts_.end() ? none_.properties : found->second.properties;
}

const FileBox* ItemFacts::property(uint32_t item, uint32_t kind) const {
  for (const ItemProperty& property : properties(item)) {
    if (property.box.kind == kind) return &property.box;
  }
  return nullptr;
}

const ItemPlace& ItemFacts::place(uint32_t item) const {
  const auto found = facts_.find(item);
  return found == facts_.end() ? none_.place : found->second.place;
}

void ItemFacts::read_properties(Span iprp) {
  std::vector<FileBox> all;
  for_each_box(find_box(iprp, box_kind("ipco")), [&](const FileBox& box) {
    if (all.size() < kPropertiesMax) all.push_back(box);
  });
  for_each_box(iprp, [&](const FileBox& box) {
    if (box.kind == box_kind("ipma")) read_associations(box.content, all);
  });
}

void ItemFacts::read_associations(Span ipma, const std::vector<FileBox>& all) {
  const uint32_t head = box_number(ipma, 0, 4);
  const size_t id_bytes = head >> 24 == 0 ? 2 : 4, number_bytes = (head & 1) == 0 ? 1 : 2;
  const uint64_t essential = uint64_t{1} << (8 * number_bytes - 1);
  Numbers numbers(ipma, kFullBoxBytes);
  const uint64_t items = numbers.next(4);
  for (uint64_t i = 0; i < items && !numbers.is_over(); ++i) {
    const auto found = facts_.find(static_cast<uint32_t>(numbers.next(id_bytes)));
    const uint64_t count = numbers.next(1);
    for (uint64_t k = 0; k < count; ++k) {
      const uint64_t number = numbers.next(number_bytes), place = number & (essential - 1);
      if (found == facts_.end() || place == 0 || place > all.size() || ++associations_ > kAssociationsMax) continue;
      found->second.properties.push_back({all[static_cast<size_t>(place) - 1], (number & essential) != 0});
    }
  }
}

void ItemFacts::read_places(Span file, Span idat, Span iloc) {
  const uint32_t version = box_number(iloc, 0, 1), told = box_number(iloc, kFullBoxBytes, 2);
  const PlaceSizes sizes{told >> 12 & 15, told >> 8 & 15, told >> 4 & 15, version == 0 ? 0 : told & 15};
  const size_t id_bytes = version < 2 ? 2 : 4;
  Numbers numbers(iloc, kFullBoxBytes + 2);
  const uint64_t items = numbers.next(id_bytes);
  for (uint64_t i = 0; i < items && !numbers.is_over(); ++i) {
    const auto found = facts_.find(static_cast<uint32_t>(numbers.next(id_bytes)));
    ItemPlace place = read_place(numbers, sizes, version, file, idat, extents_);
    if (found != facts_.end() && !found->second.place.is_known) found->second.place = std::move(place);
  }
}

}  // namespace spdld::image
