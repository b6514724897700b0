#include "daemon/source/annotations/annotated_pictures.h"

#include <algorithm>
#include <utility>

#include "config/catalogue.h"

namespace spdld::source {
namespace {

class AnnotatedPictures final : public Listing {
 public:
  explicit AnnotatedPictures(AnnotatedParts parts) : parts_(std::move(parts)) {
    for (FileColumn& column : parts_.files) {
      column.paths.fit();
      fields_.push_back({column.field, FieldKind::kFetched});
    }
    fields_.insert(fields_.begin() + 1, {std::string(config::kNameField), FieldKind::kText});
    first_list_ = static_cast<FieldId>(fields_.size());
    for (ListColumn& column : parts_.lists) {
      fields_.push_back({column.field, FieldKind::kFetched});
      column.texts.fit();
      lists_.push_back(std::make_unique<HeldColumn>(std::move(column.texts)));
    }
  }

  uint64_t size() const override { return parts_.files.front().paths.size(); }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    if (field == kPath) return {};
    if (field < first_list_) return locate_file(sample, parts_.files[field == kImage ? 0 : field - 1]);
    Locator locator = locate_annotation(sample);
    locator.packing = lists_[field - first_list_].get();
    locator.packed = static_cast<uint32_t>(sample);
    return locator;
  }
  unsigned store_concurrency() const override { return parts_.root.store ? parts_.root.store->concurrency() : 0; }
  int64_t integer(uint64_t, FieldId) const override { return 0; }
  std::string name(uint64_t sample) const override { return std::string(parts_.files.front().paths[sample]); }
  const std::string& fingerprint() const override { return parts_.fingerprint; }
  uint64_t memory_bytes() const override {
    uint64_t bytes = parts_.annotation_of.capacity() * sizeof(uint32_t);
    for (const FileColumn& column : parts_.files)
      bytes += column.paths.memory_bytes() + column.identities.capacity() * sizeof(store::Identity);
    for (const auto& list : lists_) bytes += list->memory_bytes();
    for (const DataFile& file : parts_.annotations)
      bytes += sizeof file + file.name.capacity() + file.object.capacity();
    return bytes;
  }
  std::span<const std::string> classes() const override { return parts_.classes; }
  const Remarks& said() const override { return parts_.remarks; }
  bool unchanged() const override { return parts_.is_unchanged(); }

 private:
  static constexpr FieldId kImage = 0, kPath = 1;  // further files and the lists follow

  Locator locate_file(uint64_t sample, const FileColumn& column) const {
    Locator locator;
    locator.path = column.paths[sample];
    locator.folder = parts_.root.folder;
    locator.store = parts_.root.store.get();
    if (!column.identities.empty()) locator.identity = column.identities[sample];
    return locator;
  }
  // No byte of the file from which the sample's lists are, so that their copies are as old as it; where there is none,
  // of its picture.
  Locator locate_annotation(uint64_t sample) const {
    const uint32_t number = parts_.annotation_of.empty() ? kNoAnnotation : parts_.annotation_of[sample];
    if (number != kNoAnnotation) {
      Locator locator = parts_.annotations[number].at(0, 0);
      locator.object_bytes = parts_.annotations[number].bytes;
      return locator;
    }
    Locator locator = locate_file(sample, parts_.files.front());
    locator.length = 0;
    return locator;
  }

  AnnotatedParts parts_;
  std::vector<Field> fields_;
  std::vector<std::unique_ptr<const HeldColumn>> lists_;
  FieldId first_list_ = 0;
};

}  // namespace

std::unique_ptr<Listing> list_annotated(AnnotatedParts parts) {
  return std::make_unique<AnnotatedPictures>(std::move(parts));
}

}  // namespace spdld::source
