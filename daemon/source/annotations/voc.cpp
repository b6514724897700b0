// A data set in the form of PASCAL VOC: JPEGImages/NAME.jpg, Annotations/NAME.xml, SegmentationClass/NAME.png and
// SegmentationObject/NAME.png, and lists of names in ImageSets. A sample is a name of one list, in the list's order, as
// in torchvision.datasets.VOCDetection.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "config/parameter.h"
#include "config/text/words.h"
#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/result.h"
#include "daemon/source/annotations/annotated_pictures.h"
#include "daemon/source/annotations/list_text.h"
#include "daemon/source/annotations/voc_annotation.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/folders/class_list.h"
#include "daemon/source/tables/reading/json_text.h"
#include "daemon/source/tables/reading/whole_texts.h"

namespace spdld::source {
namespace {

constexpr uint64_t kSetBytesMax = 256 << 20;
constexpr FileKind kSets = {
    .noun = "list", .nouns = "lists", .endings = "", .advice = "", .meant = "a list of ImageSets, as `set` names it"};
constexpr FileKind kAnnotations = {.noun = "file of annotations",
                                   .nouns = "files of annotations",
                                   .endings = "",
                                   .advice = "",
                                   .meant = "a file of annotations"};

// In the order of their names, as the challenge numbers them.
const std::vector<std::string>& voc_classes() {
  static const std::vector<std::string> kClasses = {
      "aeroplane",   "bicycle", "bird",  "boat",      "bottle", "bus",         "car",   "cat",  "chair", "cow",
      "diningtable", "dog",     "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"};
  return kClasses;
}

// A list's line, and the name that it is where VOC's own lists say behind it whether the picture shows a class.
struct SetLine {
  uint64_t number;
  std::string_view words;
  std::string_view before_flag;  // empty: no flag stands at the line's end
  bool is_flag_certain;          // by VOC's columns: two signs wide behind a blank, or by a tabulator
};

SetLine set_line(uint64_t number, std::string_view words) {
  SetLine line{number, words, {}, false};
  const size_t blank = words.find_last_of(" \t");
  if (blank == std::string_view::npos) return line;
  const std::string_view flag = words.substr(blank + 1), name = without_blanks(words.substr(0, blank));
  if (flag != "-1" && flag != "0" && flag != "1") return line;
  line.before_flag = name;
  line.is_flag_certain = words[blank] == '\t' || flag == "-1" || blank > name.size();
  return line;
}

std::vector<SetLine> lines_of(std::string_view text) {
  std::vector<SetLine> lines;
  text = without_byte_order_mark(text);
  for (uint64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n')), words = without_blanks(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!words.empty()) lines.push_back(set_line(number, words));
  }
  return lines;
}

// Whether all lines end in a flag, and name different pictures without it.
bool have_flags(const std::vector<SetLine>& lines) {
  std::unordered_set<std::string_view> names;
  return std::all_of(lines.begin(), lines.end(), [&](const SetLine& line) {
    return !line.before_flag.empty() && names.insert(line.before_flag).second;
  });
}

// A name may have blanks.
std::vector<std::string> names_of(std::string_view text, const std::string& path, Remarks& remarks) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  const std::vector<SetLine> lines = lines_of(text);
  const bool all_have_flags = have_flags(lines);
  for (const SetLine& line : lines) {
    const std::string_view name = all_have_flags || line.is_flag_certain ? line.before_flag : line.words;
    const auto lose = [&](const std::string& fault) {
      remarks.add_missing(path + ", line " + std::to_string(line.number) + ": " + fault + '.');
    };
    if (name.find('\0') != std::string::npos || !path_fault(name).empty())
      lose("\"" + config::printable(name) + "\" is no name of a picture");
    else if (!seen.insert(name).second)
      lose("the name " + config::printable(name) + " stands there for the second time");
    else
      names.emplace_back(name);
  }
  return names;
}

class VocReader {
 public:
  explicit VocReader(const SourceOpening& opening)
      : opening_(opening),
        root_(data_root(opening)),
        drops_difficult_(opening.text("difficult") == "drop"),
        list_(read_class_list(opening.spec.classes, opening.places.bounds.get())) {
    classes_ = list_ ? list_->labels() : config::names_in(opening.text("names"));
    from_ = list_ ? "`classes` lists" : classes_.empty() ? "" : "`names` lists";
    if (classes_.empty()) classes_ = voc_classes();
    for (size_t i = 0; i < classes_.size(); ++i) labels_.emplace(classes_[i], i);
    if (list_) classes_ = list_->names();
  }

  std::unique_ptr<Listing> list() {
    const std::vector<std::string> names = read_set();
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(root_.name_of("Annotations/" + name + ".xml"));
    DataFiles annotations = name_data_files(files, kAnnotations, opening_.places, opening_.stop);
    const std::vector<std::string> texts = whole_texts(
        annotations, opening_.indexing(kAnnotations, "voc\n" + opening_.text("set"), "bytes of annotations"),
        kVocBytesMax);
    for (size_t i = 0; i < names.size(); ++i) add_picture(names[i], texts[i], files[i], annotations.files[i]);
    if (count_ == 0) throw SetupError(Trouble::kUsage, set_.files.front().name + " names no picture that can be read.");
    return finish(std::move(annotations.is_unchanged));
  }

 private:
  enum List : uint8_t { kBoxes, kLabels, kClassNames, kDifficult, kTruncated, kLists };
  enum File : uint8_t { kImage, kClassMask, kObjectMask, kFiles };

  std::vector<std::string> read_set() {
    const std::string set = opening_.text("set");
    if (const std::string fault = path_fault(set); !fault.empty())
      throw SetupError(Trouble::kUsage, "source.set " + fault + '.');
    set_ = name_data_files({root_.name_of("ImageSets/" + set + ".txt")}, kSets, opening_.places, opening_.stop);
    KeptUse unused;  // the listing's use counts files of annotations
    const std::vector<std::string> texts =
        whole_texts(set_, opening_.indexing(kSets, "voc set\n" + set, "bytes of lists", &unused), kSetBytesMax);
    const std::string& path = set_.files.front().name;
    std::vector<std::string> names = names_of(texts.front(), path, parts_.remarks);
    if (names.empty()) throw SetupError(Trouble::kUsage, path + " names no picture.");
    return names;
  }

  void add_picture(const std::string& name, std::string_view xml, const std::string& path, DataFile& file) {
    const Result<VocAnnotation> annotation = read_voc(xml, path);
    if (!annotation) return parts_.remarks.add_missing(annotation.error().message);
    for (const std::string& fault : annotation->faults) lose(path, fault);
    std::array<ListText, kLists> lists;
    for (const VocObject& object : annotation->objects) {
      const auto label = labels_.find(object.name);
      if (label == labels_.end())
        lose(path, "the object \"" + config::printable(object.name) + "\" has none of the classes" +
                       (from_.empty() ? " of PASCAL VOC: list yours in `names`" : " that " + from_));
      else if (!drops_difficult_ || !object.is_difficult)
        add_object(object, label->second, lists);
    }
    for (size_t i = 0; i < kLists; ++i) lists_[i].add(lists[i].finish());
    files_[kImage].add("JPEGImages/" + name + '.' + opening_.text("ending"));
    files_[kClassMask].add("SegmentationClass/" + name + ".png");
    files_[kObjectMask].add("SegmentationObject/" + name + ".png");
    parts_.annotation_of.push_back(count_++);
    parts_.annotations.push_back(std::move(file));
  }

  static void add_object(const VocObject& object, size_t label, std::array<ListText, kLists>& lists) {
    std::string box = "[";
    for (const double corner : object.box) append_number(box.size() > 1 ? box += ',' : box, corner);
    lists[kBoxes].add(box += ']');
    lists[kLabels].add(std::to_string(label));
    append_text(lists[kClassNames].next(), object.name);
    lists[kDifficult].add(object.is_difficult ? "1" : "0");
    lists[kTruncated].add(object.is_truncated ? "1" : "0");
  }

  std::unique_ptr<Listing> finish(std::function<bool()> are_unchanged) {
    Fingerprint fingerprint;
    for (const std::string_view text : {std::string_view("voc"), std::string_view(files_[kImage].texts())})
      fingerprint.add_text(text);
    for (const TextColumn& list : lists_) fingerprint.add_text(list.texts());
    if (list_)
      for (const std::string& name : classes_) fingerprint.add_text(name);
    parts_.fingerprint = fingerprint.digits();
    parts_.root = root_;
    constexpr std::array<const char*, kFiles> kFileFields = {"image", "class_mask", "object_mask"};
    constexpr std::array<const char*, kLists> kListFields = {"boxes", "labels", "classes", "difficult", "truncated"};
    for (size_t i = 0; i < kFiles; ++i) parts_.files.push_back({kFileFields[i], std::move(files_[i])});
    for (size_t i = 0; i < kLists; ++i) parts_.lists.push_back({kListFields[i], std::move(lists_[i])});
    parts_.classes = std::move(classes_);
    parts_.is_unchanged = [is_set = std::move(set_.is_unchanged), are = std::move(are_unchanged),
                           classes = list_ ? list_->stamps : Stamps()] {
      return is_set() && are() && classes.unchanged();
    };
    return list_annotated(std::move(parts_));
  }

  void lose(const std::string& path, const std::string& fault) {
    parts_.remarks.add_missing(path + ": " + fault + '.');
  }

  const SourceOpening& opening_;
  const DataRoot root_;
  const bool drops_difficult_;
  const std::optional<ClassList> list_;
  std::vector<std::string> classes_;
  std::string from_;                                // the key that lists them; empty: they are VOC's own
  std::unordered_map<std::string, size_t> labels_;  // by class
  DataFiles set_;
  AnnotatedParts parts_;
  std::array<TextColumn, kFiles> files_;
  std::array<TextColumn, kLists> lists_;
  uint32_t count_ = 0;  // of the rows
};

}  // namespace

std::unique_ptr<Listing> open_voc(const SourceOpening& opening) { return VocReader(opening).list(); }

}  // namespace spdld::source
