// The indexes that nodes make of contents (media::KeptIndex), and the reading of contents by their parts. An index
// stands on a shelf of its own beside its content, whether the content is kept or not. A sample whose content is not
// kept comes in rounds:
//
//   ask_first    asks for nothing where the indexes are known, else for the head of the content
//   settle       gives the parts that were read
//   ask_further  asks for the parts that the nodes want next
//
// A content that is too small for rounds is read whole. Constant but for open() and close(); any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/pipeline/forms/field_bytes.h"

namespace spdld::pipeline {

class IndexShelves {
 public:
  static constexpr uint64_t kHeadBytes = 64 << 10;
  static constexpr uint64_t kWholeMax = 1 << 20;  // read in one round where no index is known
  static constexpr unsigned kRoundsMax = 12;      // of a sample; the last rounds read contents whole

  // Fields are counted as in `uses`. `cache`: null where nothing is to be kept.
  void open(cache::Cache* cache, const std::string& uris, const source::Listing& listing,
            std::span<const FieldUse> uses);
  void close();
  void report(std::vector<cache::ShelfReport>& reports) const;

  // Whether the field's content may be fetched in parts.
  bool takes_parts(size_t index) const { return index < fields_.size() && fields_[index].takes_parts; }
  // The indexes of a sample's field, as far as they are known.
  void find(size_t index, uint64_t record, FieldBytes& field) const;
  static void ask_first(source::FieldFetch& fetch, const FieldBytes& field);
  // False: the file has changed since its index was made; `request` then asks for a fetch in its place.
  static bool settle(source::FetchRequest& request, size_t index, uint64_t record, FieldBytes& field);
  // The field's identity is known: reads indexes from the disk, and drops indexes that are of another content.
  static void check(uint64_t record, FieldBytes& field);
  // kInternal: the nodes want more than there is.
  static Status ask_further(source::FetchRequest& request, std::span<FieldBytes> fields);
  // Keeps the indexes that nodes have made.
  static void keep(uint64_t record, FieldBytes& field);

 private:
  struct OfField {
    std::vector<std::string_view> ids;
    std::vector<std::shared_ptr<cache::Shelf>> shelves;  // as ids; null: not kept
    bool takes_parts = false;
  };
  std::vector<OfField> fields_;
};

}  // namespace spdld::pipeline
