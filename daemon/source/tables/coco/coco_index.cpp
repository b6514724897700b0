#include "daemon/source/tables/coco/coco_index.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/tables/coco/coco_annotation.h"
#include "daemon/source/tables/manifest_index.h"
#include "daemon/source/tables/reading/json_stream.h"
#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {
namespace {

class CocoIndexer {
 public:
  CocoIndexer(BlockReader& reader, const std::string& path, const CocoChoice& choice)
      : stream_(reader, path), path_(path), choice_(choice) {}

  TableIndex run() {
    if (!stream_.take('{')) stream_.refuse("a '{' is missing: the file is no table of annotations in COCO's form");
    bool has_images = false;
    while (!stream_.take('}')) {
      const std::string key = take_key();
      if (key == "images") {
        has_images = true;
        read_list([this](std::string_view text) { read_picture(text); });
      } else if (key == "annotations") {
        read_list([this](std::string_view text) { read_annotation(text); });
      } else if (key == "categories") {
        read_list([this](std::string_view text) { read_category(text); });
      } else {
        stream_.value();
        stream_.drop();
      }
      if (stream_.take(',')) continue;
      stream_.want('}');
      break;
    }
    if (!stream_.is_at_end()) stream_.refuse("more text stands behind the table's end");
    if (!has_images) throw SetupError(Trouble::kUsage, path_ + " has no list \"images\": it is not in COCO's form.");
    return finish();
  }

 private:
  struct Picture {
    CocoId id;
    std::string file_name;
  };
  struct Category {
    CocoId id;
    std::string name;
  };
  // An annotation whose parts lie in parts_, in their order, each ended by NUL.
  struct Place {
    CocoId id, picture;
    std::optional<CocoId> category;
    size_t at;
    uint32_t row = 0, label = 0;
  };

  std::string take_key() {
    JsonText text(stream_.value());
    const auto key = text.take_value();
    const auto plain = key && key->kind == JsonKind::kText && text.is_at_end() ? plain_text(*key) : std::nullopt;
    if (!plain) stream_.refuse("a name in quotes is missing: the file is no whole JSON");
    stream_.drop();
    stream_.want(':');
    return *plain;
  }

  template <typename Read>
  void read_list(const Read& read) {
    stream_.want('[');
    if (stream_.take(']')) return;
    do {
      const std::string_view text = stream_.value();
      content_.add_text(text);
      read(text);
      stream_.drop();
    } while (stream_.take(','));
    stream_.want(']');
  }

  std::string here() const { return "at byte " + std::to_string(stream_.offset()); }

  // The two entries of a picture or a category that count.
  struct Named {
    std::optional<CocoId> id;
    std::optional<std::string> name;
    bool is_sound;
  };
  Named read_named(std::string_view text, std::string_view name_key) {
    Named named = {};
    named.is_sound = for_each_entry_of(text, [&](const JsonValue& key, const JsonValue& value) {
      if (key.text == "id") named.id = id_values_.id_of(value);
      if (key.text == name_key && value.kind == JsonKind::kText) named.name = plain_text(value);
      return true;
    });
    return named;
  }

  void read_picture(std::string_view text) {
    auto [id, name, is_sound] = read_named(text, "file_name");
    const std::string what = "the picture " + (id ? shown(*id) : here());
    if (!is_sound) return lose("the picture " + here() + " is no sound table of JSON");
    if (!id) return lose(what + " has no id that is a whole number of 0 or more, or a text");
    if (!name || name->empty() || name->find('\0') != std::string::npos) return lose(what + " has no file_name");
    pictures_.push_back({*id, std::move(*name)});
  }

  void read_category(std::string_view text) {
    auto [id, name, is_sound] = read_named(text, "name");
    if (!is_sound || !id || !name)
      stream_.refuse("a category must be a table with an id, a whole number or a text, and a name");
    categories_.push_back({*id, std::move(*name)});
    if (categories_.size() > kClassesMax)
      stream_.refuse("there are more than " + std::to_string(kClassesMax) + " categories");
  }

  void read_annotation(std::string_view text) {
    has_annotations_ = true;
    CocoAnnotation annotation;
    std::string fault;
    const bool is_sound = for_each_entry_of(text, [&](const JsonValue& key, const JsonValue& value) {
      const std::string found = take_part(key.text, value, choice_.holds_segmentations, id_values_, annotation);
      if (fault.empty()) fault = found;
      return true;
    });
    if (!is_sound) return lose("the annotation " + here() + " is no sound table of JSON");
    const std::string what = "the annotation " + (annotation.id ? shown(*annotation.id) : here());
    if (!fault.empty()) return lose(what + ' ' + fault);
    if (!annotation.id) return lose(what + " has no id");
    if (!annotation.picture) return lose(what + " has no image_id");
    if (!ids_.insert(*annotation.id).second) return lose(what + " stands twice in the file");
    hold(annotation);
  }

  void hold(const CocoAnnotation& annotation) {
    CocoParts parts = annotation.parts;
    if (choice_.drops_crowd && parts[kIsCrowd] == "1") return;
    if (!choice_.holds_segmentations) parts[kSegmentation] = {};
    note(CocoList::kAnnotationIds, true);
    note(CocoList::kBoxes, !parts[kBox].empty());
    note(CocoList::kLabels, !parts[kCategory].empty());
    note(CocoList::kCategoryIds, !parts[kCategory].empty());
    note(CocoList::kAreas, !parts[kArea].empty());
    note(CocoList::kCrowd, !parts[kIsCrowd].empty());
    note(CocoList::kKeypoints, !parts[kKeypoints].empty());
    note(CocoList::kCaptions, !parts[kCaption].empty());
    note(CocoList::kSegmentations, !parts[kSegmentation].empty());
    places_.push_back({*annotation.id, *annotation.picture, annotation.category, parts_.size()});
    for (const std::string_view part : parts) parts_.append(part) += '\0';
  }

  void note(CocoList list, bool has) { has_[static_cast<size_t>(list)] |= has; }
  bool has(CocoList list) const { return has_[static_cast<size_t>(list)]; }

  // ---- after the last annotation

  TableIndex finish() {
    ids_ = {};
    // In a file without annotations, every list of every picture is empty.
    if (!has_annotations_)
      for (size_t list = 0; list < kCocoLists.size(); ++list)
        has_[list] = choice_.holds_segmentations || static_cast<CocoList>(list) != CocoList::kSegmentations;
    sort_categories();
    sort_pictures();
    find_rows();
    for (size_t list = 0; list < kCocoLists.size(); ++list)
      if (has_[list]) index_.columns.emplace_back(kCocoLists[list]);
    index_.texts.resize(2 + index_.columns.size());
    auto place = places_.cbegin();
    for (uint32_t row = 0; row < pictures_.size(); ++row) {
      const auto first = place;
      while (place != places_.cend() && place->row == row) ++place;
      if (first != place || !choice_.drops_empty) add_row(pictures_[row], first, place);
    }
    for (const Category& category : categories_) index_.classes.push_back(category.name);
    index_.absent.resize(index_.columns.size());
    index_.fit();
    index_.content = content_.digits();
    return std::move(index_);
  }

  void sort_categories() {
    std::sort(categories_.begin(), categories_.end(),
              [this](const Category& a, const Category& b) { return id_values_.is_before(a.id, b.id); });
    for (size_t i = 1; i < categories_.size(); ++i)
      if (categories_[i].id == categories_[i - 1].id)
        throw SetupError(Trouble::kUsage, path_ + ": two categories have the id " + shown(categories_[i].id) +
                                              ": give one of them another id.");
  }

  void sort_pictures() {
    std::stable_sort(pictures_.begin(), pictures_.end(),
                     [this](const Picture& a, const Picture& b) { return id_values_.is_before(a.id, b.id); });
    const auto is_same = [](const Picture& a, const Picture& b) { return a.id == b.id; };
    for (size_t i = 1; i < pictures_.size(); ++i)
      if (is_same(pictures_[i], pictures_[i - 1])) note_repeated(pictures_[i], pictures_[i - 1]);
    pictures_.erase(std::unique(pictures_.begin(), pictures_.end(), is_same), pictures_.end());
  }

  void note_repeated(const Picture& again, const Picture& before) {
    const std::string what = "the picture " + shown(again.id) + " stands twice in the file";
    if (again.file_name != before.file_name) return lose(what + ", with another file_name");
    index_.remarks.add(base() + what + ", which loses nothing.");
  }

  // Gives the annotations their rows, and drops any without a row, or without what the others have.
  void find_rows() {
    std::vector<Place> kept;
    kept.reserve(places_.size());
    for (Place& place : places_) {
      const std::string fault = find_row(place);
      if (fault.empty())
        kept.push_back(place);
      else
        lose("the annotation " + shown(place.id) + ' ' + fault);
    }
    places_ = std::move(kept);
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.row < b.row; });
  }

  // Returns what is wrong with the annotation; empty: nothing.
  std::string find_row(Place& place) const {
    const auto found = find_id(pictures_, place.picture);
    if (found == pictures_.end())
      return "belongs to the picture " + shown(place.picture) + ", which the file does not list";
    place.row = static_cast<uint32_t>(found - pictures_.begin());
    const CocoParts parts = parts_of(place);
    const auto lacks = [](std::string_view key) {
      return "has no " + std::string(key) + ", and other annotations of the file have one";
    };
    if (has(CocoList::kBoxes) && parts[kBox].empty()) return lacks("bbox");
    if (has(CocoList::kLabels) && parts[kCategory].empty()) return lacks("category_id");
    if (has(CocoList::kCaptions) && parts[kCaption].empty()) return lacks("caption");
    if (!place.category) return {};
    const auto category = find_id(categories_, *place.category);
    if (category == categories_.end())
      return "has the category " + shown(*place.category) + ", which the file does not list";
    place.label = static_cast<uint32_t>(category - categories_.begin());
    return {};
  }

  CocoParts parts_of(const Place& place) const {
    CocoParts parts;
    const char* at = parts_.data() + place.at;
    for (std::string_view& part : parts) {
      part = at;
      at += part.size() + 1;
    }
    return parts;
  }

  // In a list that is sorted by ids; its end: the id is not there.
  template <typename List>
  typename List::const_iterator find_id(const List& list, CocoId id) const {
    const auto found = std::lower_bound(list.begin(), list.end(), id, [this](const auto& one, CocoId wanted) {
      return id_values_.is_before(one.id, wanted);
    });
    return found == list.end() || found->id != id ? list.end() : found;
  }

  using PlaceIterator = std::vector<Place>::const_iterator;

  void add_row(const Picture& picture, PlaceIterator first, PlaceIterator end) {
    std::array<std::string, kCocoLists.size()> lists;
    lists.fill("[");
    for (auto place = first; place != end; ++place) {
      const CocoParts parts = parts_of(*place);
      const auto add = [&](CocoList list, std::string_view text) {
        std::string& to = lists[static_cast<size_t>(list)];
        to.append(place == first ? "" : ",").append(text);
      };
      const auto or_else = [](std::string_view text, std::string_view other) { return text.empty() ? other : text; };
      add(CocoList::kBoxes, parts[kBox]);
      if (has(CocoList::kLabels)) add(CocoList::kLabels, std::to_string(place->label));
      add(CocoList::kCategoryIds, place->category ? in_json(*place->category) : std::string());
      add(CocoList::kAreas, or_else(parts[kArea], "0"));
      add(CocoList::kCrowd, or_else(parts[kIsCrowd], "0"));
      add(CocoList::kAnnotationIds, in_json(place->id));
      add(CocoList::kKeypoints, or_else(parts[kKeypoints], "[]"));
      add(CocoList::kCaptions, parts[kCaption]);
      add(CocoList::kSegmentations, or_else(parts[kSegmentation], "[]"));
    }
    index_.texts[0].add(picture.file_name);
    index_.texts[1].add(id_values_.text_of(picture.id));
    size_t column = 2;
    for (size_t list = 0; list < lists.size(); ++list)
      if (has_[list]) index_.texts[column++].add(lists[list] += ']');
    index_.add_row(0, 0);  // what a row has is held in memory
  }

  // An id as it is shown in a sentence, and as JSON has it.
  std::string shown(CocoId id) const {
    const std::string text = id_values_.text_of(id);
    return id.is_text ? '"' + config::printable(text) + '"' : text;
  }
  std::string in_json(CocoId id) const {
    std::string text;
    if (!id.is_text) return id_values_.text_of(id);
    append_text(text, id_values_.text_of(id));
    return text;
  }

  std::string base() const { return path_.substr(path_.rfind('/') + 1) + ": "; }
  void lose(const std::string& what) { index_.remarks.add_missing(base() + what + '.'); }

  JsonStream stream_;
  const std::string& path_;
  const CocoChoice choice_;
  std::vector<Picture> pictures_;
  std::vector<Category> categories_;
  std::vector<Place> places_;
  std::string parts_;
  std::array<bool, kCocoLists.size()> has_ = {};
  bool has_annotations_ = false;
  std::unordered_set<CocoId, CocoIdHash> ids_;  // of the annotations
  CocoIds id_values_;
  TableIndex index_;
  Fingerprint content_;
};

}  // namespace

TableIndex index_coco(store::View& file, const std::string& path, const CocoChoice& choice, std::atomic<uint64_t>& done,
                      const std::stop_token& stop) {
  BlockReader reader(file, done, stop);
  reader.drop_byte_order_mark();
  return CocoIndexer(reader, path, choice).run();
}

}  // namespace spdld::source
