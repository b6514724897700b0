// The properties and the places of a HEIF file's items (ISO/IEC 23008-12, 9.3, and 14496-12, 8.11.3). Pure functions;
// any thread. The bytes are not trusted.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/file_boxes.h"

namespace spdld::image {

struct ItemProperty {
  FileBox box;
  bool is_essential = false;  // who does not know it must not show the item
};

struct ItemPlace {
  std::vector<std::span<const uint8_t>> extents;
  bool is_known = false;    // the file says where the item lies
  bool is_cut = false;      // the file ends before the item does
  bool is_derived = false;  // the item lies in other items
};

class ItemFacts {
 public:
  // Looks up these items, of the file's box "meta".
  ItemFacts(std::span<const uint8_t> file, std::span<const uint8_t> meta, std::span<const uint32_t> items);

  // In the order in which they are given to the item. Empty for items that were not looked up.
  const std::vector<ItemProperty>& properties(uint32_t item) const;
  // The first of a kind; nullptr: the item has none.
  const FileBox* property(uint32_t item, uint32_t kind) const;
  const ItemPlace& place(uint32_t item) const;

 private:
  struct Facts {
    std::vector<ItemProperty> properties;
    ItemPlace place;
  };
  void read_properties(std::span<const uint8_t> iprp);
  void read_associations(std::span<const uint8_t> ipma, const std::vector<FileBox>& all);
  void read_places(std::span<const uint8_t> file, std::span<const uint8_t> idat, std::span<const uint8_t> iloc);

  std::unordered_map<uint32_t, Facts> facts_;
  Facts none_;
  size_t extents_ = 0, associations_ = 0;
};

}  // namespace spdld::image
