#include "daemon/source/tables/coco_index.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/document.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/tables/json_stream.h"
#include "daemon/source/tables/json_text.h"
#include "daemon/source/tables/manifest_index.h"

namespace spdld::source {
namespace {

using Kind = JsonValue::Kind;

bool is_finite_number(const JsonValue& value) {
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  return value.kind == Kind::kNumber && error == std::errc() && stopped == end && std::isfinite(number);
}

// How many numbers the list has; none: it is no list of finite numbers.
std::optional<uint64_t> numbers_in(const JsonValue& list) {
  uint64_t count = 0;
  const bool is_sound = list.kind == Kind::kList && for_each_element_of(list.text, [&](const JsonValue& value) {
                          ++count;
                          return is_finite_number(value);
                        });
  return is_sound ? std::optional(count) : std::nullopt;
}

// The parts of an annotation, as texts in JSON; empty: it lacks the part.
enum Part : uint8_t { kBox, kCategory, kArea, kIsCrowd, kKeypoints, kCaption, kSegmentation, kParts };
using Parts = std::array<std::string_view, kParts>;

struct Annotation {
  std::optional<uint64_t> id, picture;
  Parts parts;
};

// Takes one entry of an annotation. Returns what is wrong with it; empty: nothing.
std::string take_part(std::string_view key, const JsonValue& value, Annotation& annotation) {
  const auto is_flag = [&] {
    return value.text == "0" || value.text == "1" || value.text == "true" || value.text == "false";
  };
  if (key == "id") {
    annotation.id = plain_count(value);
    if (!annotation.id) return "has an id that is no whole number of 0 or more";
  } else if (key == "image_id") {
    annotation.picture = plain_count(value);
    if (!annotation.picture) return "has an image_id that is no whole number of 0 or more";
  } else if (value.kind == Kind::kNull) {
    return {};
  } else if (key == "bbox") {
    if (numbers_in(value) != 4) return "has a bbox that is no list of 4 finite numbers";
    annotation.parts[kBox] = value.text;
  } else if (key == "category_id") {
    if (!plain_count(value)) return "has a category_id that is no whole number of 0 or more";
    annotation.parts[kCategory] = value.text;
  } else if (key == "area") {
    if (!is_finite_number(value)) return "has an area that is no finite number";
    annotation.parts[kArea] = value.text;
  } else if (key == "iscrowd") {
    if (value.kind == Kind::kText || !is_flag()) return "has an iscrowd that is neither 0 nor 1";
    annotation.parts[kIsCrowd] = value.text == "1" || value.text == "true" ? "1" : "0";
  } else if (key == "keypoints") {
    const auto count = numbers_in(value);
    if (!count || *count % 3 != 0) return "has keypoints that are no list of finite numbers, three for each point";
    annotation.parts[kKeypoints] = value.text;
  } else if (key == "caption") {
    if (value.kind != Kind::kText || !plain_text(value)) return "has a caption that is no text";
    annotation.parts[kCaption] = {value.text.data() - 1, value.text.size() + 2};  // with its quotes
  } else if (key == "segmentation") {
    if (value.kind != Kind::kList && value.kind != Kind::kTable)
      return "has a segmentation that is neither a list of polygons nor a table of run lengths";
    annotation.parts[kSegmentation] = value.text;
  }
  return {};
}

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
    uint64_t id;
    std::string file_name;
  };
  struct Category {
    uint64_t id;
    std::string name;
  };
  // An annotation whose parts lie in parts_, in their order, each ended by NUL.
  struct Place {
    uint64_t id, picture;
    size_t at;
    uint32_t row = 0;
  };

  std::string take_key() {
    JsonText text(stream_.value());
    const auto key = text.take_value();
    const auto plain = key && key->kind == Kind::kText && text.is_at_end() ? plain_text(*key) : std::nullopt;
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
    std::optional<uint64_t> id;
    std::optional<std::string> name;
    bool is_sound;
  };
  static Named read_named(std::string_view text, std::string_view name_key) {
    Named named = {};
    named.is_sound = for_each_entry_of(text, [&](const JsonValue& key, const JsonValue& value) {
      if (key.text == "id") named.id = plain_count(value);
      if (key.text == name_key && value.kind == Kind::kText) named.name = plain_text(value);
      return true;
    });
    return named;
  }

  void read_picture(std::string_view text) {
    auto [id, name, is_sound] = read_named(text, "file_name");
    const std::string what = "the picture " + (id ? std::to_string(*id) : here());
    if (!is_sound) return lose("the picture " + here() + " is no sound table of JSON");
    if (!id) return lose(what + " has no id that is a whole number of 0 or more");
    if (!name || name->empty() || name->find('\0') != std::string::npos) return lose(what + " has no file_name");
    pictures_.push_back({*id, std::move(*name)});
  }

  void read_category(std::string_view text) {
    auto [id, name, is_sound] = read_named(text, "name");
    if (!is_sound || !id || !name) stream_.refuse("a category must be a table with an id, a whole number, and a name");
    categories_.push_back({*id, std::move(*name)});
    if (categories_.size() > kClassesMax)
      stream_.refuse("there are more than " + std::to_string(kClassesMax) + " categories");
  }

  void read_annotation(std::string_view text) {
    Annotation annotation;
    std::string fault;
    const bool is_sound = for_each_entry_of(text, [&](const JsonValue& key, const JsonValue& value) {
      const std::string found = take_part(key.text, value, annotation);
      if (fault.empty()) fault = found;
      return true;
    });
    if (!is_sound) return lose("the annotation " + here() + " is no sound table of JSON");
    const std::string what = "the annotation " + (annotation.id ? std::to_string(*annotation.id) : here());
    if (!fault.empty()) return lose(what + ' ' + fault);
    if (!annotation.id) return lose(what + " has no id");
    if (!annotation.picture) return lose(what + " has no image_id");
    if (!ids_.insert(*annotation.id).second) return lose(what + " stands twice in the file");
    hold(annotation);
  }

  void hold(const Annotation& annotation) {
    Parts parts = annotation.parts;
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
    places_.push_back({*annotation.id, *annotation.picture, parts_.size()});
    for (const std::string_view part : parts) parts_.append(part) += '\0';
  }

  void note(CocoList list, bool has) { has_[static_cast<size_t>(list)] |= has; }
  bool has(CocoList list) const { return has_[static_cast<size_t>(list)]; }

  // ---- after the last annotation

  TableIndex finish() {
    ids_ = {};
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
    const auto by_id = [](const Category& a, const Category& b) { return a.id < b.id; };
    std::sort(categories_.begin(), categories_.end(), by_id);
    for (size_t i = 1; i < categories_.size(); ++i)
      if (categories_[i].id == categories_[i - 1].id)
        throw SetupError(Trouble::kUsage, path_ + ": two categories have the id " + std::to_string(categories_[i].id) +
                                              ": give one of them another id.");
  }

  void sort_pictures() {
    std::stable_sort(pictures_.begin(), pictures_.end(),
                     [](const Picture& a, const Picture& b) { return a.id < b.id; });
    const auto is_same = [](const Picture& a, const Picture& b) { return a.id == b.id; };
    for (size_t i = 1; i < pictures_.size(); ++i)
      if (is_same(pictures_[i], pictures_[i - 1]))
        lose("the picture " + std::to_string(pictures_[i].id) + " stands twice in the file");
    pictures_.erase(std::unique(pictures_.begin(), pictures_.end(), is_same), pictures_.end());
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
        lose("the annotation " + std::to_string(place.id) + ' ' + fault);
    }
    places_ = std::move(kept);
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.row < b.row; });
  }

  // Returns what is wrong with the annotation; empty: nothing.
  std::string find_row(Place& place) const {
    const auto found = std::lower_bound(pictures_.begin(), pictures_.end(), place.picture,
                                        [](const Picture& picture, uint64_t id) { return picture.id < id; });
    if (found == pictures_.end() || found->id != place.picture)
      return "belongs to the picture " + std::to_string(place.picture) + ", which the file does not list";
    place.row = static_cast<uint32_t>(found - pictures_.begin());
    const Parts parts = parts_of(place);
    const auto lacks = [](std::string_view key) {
      return "has no " + std::string(key) + ", and other annotations of the file have one";
    };
    if (has(CocoList::kBoxes) && parts[kBox].empty()) return lacks("bbox");
    if (has(CocoList::kLabels) && parts[kCategory].empty()) return lacks("category_id");
    if (has(CocoList::kCaptions) && parts[kCaption].empty()) return lacks("caption");
    if (parts[kCategory].empty() || label_of(parts[kCategory])) return {};
    return "has the category " + std::string(parts[kCategory]) + ", which the file does not list";
  }

  Parts parts_of(const Place& place) const {
    Parts parts;
    const char* at = parts_.data() + place.at;
    for (std::string_view& part : parts) part = at, at += part.size() + 1;
    return parts;
  }

  std::optional<size_t> label_of(std::string_view category) const {
    uint64_t id = 0;
    std::from_chars(category.data(), category.data() + category.size(), id);
    const auto found = std::lower_bound(categories_.begin(), categories_.end(), id,
                                        [](const Category& one, uint64_t wanted) { return one.id < wanted; });
    if (found == categories_.end() || found->id != id) return std::nullopt;
    return static_cast<size_t>(found - categories_.begin());
  }

  using PlaceIterator = std::vector<Place>::const_iterator;

  void add_row(const Picture& picture, PlaceIterator first, PlaceIterator end) {
    std::array<std::string, kCocoLists.size()> lists;
    lists.fill("[");
    for (auto place = first; place != end; ++place) {
      const Parts parts = parts_of(*place);
      const auto add = [&](CocoList list, std::string_view text) {
        std::string& to = lists[static_cast<size_t>(list)];
        to.append(place == first ? "" : ",").append(text);
      };
      const auto or_else = [](std::string_view text, std::string_view other) { return text.empty() ? other : text; };
      add(CocoList::kBoxes, parts[kBox]);
      if (has(CocoList::kLabels)) add(CocoList::kLabels, std::to_string(*label_of(parts[kCategory])));
      add(CocoList::kCategoryIds, parts[kCategory]);
      add(CocoList::kAreas, or_else(parts[kArea], "0"));
      add(CocoList::kCrowd, or_else(parts[kIsCrowd], "0"));
      add(CocoList::kAnnotationIds, std::to_string(place->id));
      add(CocoList::kKeypoints, or_else(parts[kKeypoints], "[]"));
      add(CocoList::kCaptions, parts[kCaption]);
      add(CocoList::kSegmentations, or_else(parts[kSegmentation], "[]"));
    }
    index_.texts[0].add(picture.file_name);
    index_.texts[1].add(std::to_string(picture.id));
    size_t column = 2;
    for (size_t list = 0; list < lists.size(); ++list)
      if (has_[list]) index_.texts[column++].add(lists[list] += ']');
    index_.add_row(0, 0);  // what a row has is held in memory
  }

  void lose(const std::string& what) {
    index_.remarks.add_missing(path_.substr(path_.rfind('/') + 1) + ": " + what + '.');
  }

  JsonStream stream_;
  const std::string& path_;
  const CocoChoice choice_;
  std::vector<Picture> pictures_;
  std::vector<Category> categories_;
  std::vector<Place> places_;
  std::string parts_;
  std::array<bool, kCocoLists.size()> has_ = {};
  std::unordered_set<uint64_t> ids_;  // of the annotations
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
