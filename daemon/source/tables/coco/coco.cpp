// Annotations in COCO's form as a data set: a sample is a picture with the annotations that belong to it. The pictures
// are in the order of their ids, as in torchvision.datasets.CocoDetection. The values of annotations are held in
// memory: their locator means no byte of the file, and its packing has the value.
#include <algorithm>
#include <memory>
#include <utility>

#include "config/catalogue.h"
#include "daemon/base/result.h"
#include "daemon/source/alternatives.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/source/tables/coco/coco_index.h"
#include "daemon/source/tables/held_column.h"
#include "daemon/source/tables/named_files.h"
#include "daemon/source/tables/table_listing.h"

namespace spdld::source {
namespace {

constexpr FileKind kCocoFiles = {.noun = "file of annotations",
                                 .nouns = "files of annotations",
                                 .endings = "",
                                 .advice = "",
                                 .meant = "a file of annotations"};

class Coco final : public TableListing {
 public:
  Coco(DataFiles files, std::vector<TableIndex> indexes, const SourceOpening& opening)
      : TableListing(std::move(files)), stores_(opening.places) {
    fields_ = {{"image", FieldKind::kFetched},
               {std::string(config::kNameField), FieldKind::kText},
               {"image_id", FieldKind::kFetched}};
    for (const std::string_view list : kCocoLists) fields_.push_back({std::string(list), FieldKind::kFetched});
    Fingerprint fingerprint;
    for (const std::string& text : {std::string("coco"), opening.text("crowd"), opening.text("empty")})
      fingerprint.add_text(text);
    for (size_t i = 0; i < indexes.size(); ++i) {
      TableIndex& index = indexes[i];
      add_file(index, fingerprint);
      add_classes(index, file(i).name);
      add_rows(index, i, opening);
    }
    fingerprint_ = fingerprint.digits();
    store_concurrency_ = std::max(store_concurrency_, stores_.concurrency());
  }

  Locator locate(uint64_t sample, FieldId field) const override {
    const size_t number = file_of(sample);
    const uint64_t row = sample - first_of(number);
    if (field == kImage) return files_[number].pictures.locate(row);
    const HeldColumn* const column = column_of(number, field);
    if (column == nullptr) return {};
    Locator locator = place_in(number, 0, 0);
    locator.packing = column;
    locator.packed = static_cast<uint32_t>(row);
    return locator;
  }
  bool lacks(uint64_t sample, FieldId field) const override {
    return field != kImage && column_of(file_of(sample), field) == nullptr;
  }
  std::string name(uint64_t sample) const override {
    const size_t number = file_of(sample);
    return name_of(number, files_[number].names[sample - first_of(number)]);
  }
  uint64_t memory_bytes() const override {
    uint64_t bytes = 0;
    for (const File& file : files_) {
      bytes += file.names.memory_bytes() + file.pictures.memory_bytes();
      for (const auto& column : file.columns) bytes += column ? column->memory_bytes() : 0;
    }
    return bytes;
  }
  std::span<const std::string> classes() const override { return classes_; }

 private:
  static constexpr FieldId kImage = 0, kImageId = 2;  // the lists follow
  struct File {
    TextColumn names;
    NamedFiles pictures;
    std::vector<std::unique_ptr<const HeldColumn>> columns;  // by field, from kImageId on; null: the file lacks it
  };

  const HeldColumn* column_of(size_t number, FieldId field) const {
    return field < kImageId ? nullptr : files_[number].columns[field - kImageId].get();
  }

  void add_classes(TableIndex& index, const std::string& name) {
    if (files_.empty())
      classes_ = std::move(index.classes);
    else if (index.classes != classes_)
      throw SetupError(Trouble::kUsage, name + " has other categories than " + file(0).name +
                                            ": read them as two tables of [[sources]].");
  }

  // Takes the index's texts.
  void add_rows(TableIndex& index, size_t number, const SourceOpening& opening) {
    std::string folder = opening.text("images");
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    TextColumn paths;
    for (uint64_t row = 0; row < index.rows(); ++row) paths.add(folder + std::string(index.texts[0][row]));
    paths.fit();
    File& file =
        files_.emplace_back(File{std::move(index.texts[0]),
                                 NamedFiles(paths, TableListing::file(number), "file_name", stores_, opening.stop),
                                 {}});
    file.columns.push_back(std::make_unique<HeldColumn>(std::move(index.texts[1])));
    for (const std::string_view list : kCocoLists) {
      const auto place = std::find(index.columns.begin(), index.columns.end(), list);
      const auto column = static_cast<size_t>(place - index.columns.begin());
      file.columns.push_back(
          place == index.columns.end() ? nullptr : std::make_unique<HeldColumn>(std::move(index.texts[2 + column])));
    }
  }

  NamedStores stores_;
  std::vector<File> files_;
  std::vector<std::string> classes_;
};

// Whether an output asks for the field; without a list of fields any may be asked for.
bool is_asked_for(const std::string& field, std::span<const std::string> wanted) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [&](const std::string& text) { return is_among(text, field); });
}

}  // namespace

std::unique_ptr<Listing> open_coco(const SourceOpening& opening) {
  const CocoChoice choice{
      opening.text("crowd") == "drop", opening.text("empty") == "drop",
      is_asked_for(std::string(kCocoLists[static_cast<size_t>(CocoList::kSegmentations)]), opening.wanted)};
  std::string key = "coco 2";
  for (const bool chosen : {choice.drops_crowd, choice.drops_empty, choice.holds_segmentations})
    key += chosen ? "\n1" : "\n0";
  DataFiles files = find_data_files(opening.uris, kCocoFiles, opening.places, opening.stop);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_coco(view, file.name, choice, done, opening.stop);
  };
  std::vector<TableIndex> indexes =
      index_files(files, opening.indexing(kCocoFiles, std::move(key), "bytes of annotations"), table_way(read));
  const bool has_rows =
      std::any_of(indexes.begin(), indexes.end(), [](const auto& index) { return index.rows() != 0; });
  if (!has_rows) throw SetupError(Trouble::kUsage, config::uris_text(opening.spec) + " lists no picture.");
  return std::make_unique<Coco>(std::move(files), std::move(indexes), opening);
}

}  // namespace spdld::source
