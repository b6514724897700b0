// A data set in YOLO's form: a folder of pictures, and a folder with a file of labels for each picture that shows
// something, under the same name with the ending .txt.
#include <array>
#include <utility>

#include "config/parameter.h"
#include "daemon/base/result.h"
#include "daemon/source/annotations/annotated_pictures.h"
#include "daemon/source/annotations/list_text.h"
#include "daemon/source/annotations/matched_files.h"
#include "daemon/source/annotations/yolo_labels.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/tables/reading/whole_texts.h"

namespace spdld::source {
namespace {

constexpr uint64_t kNamesBytesMax = 16 << 20;
constexpr FileKind kDescriptions = {.noun = "description of the data set",
                                    .nouns = "descriptions of data sets",
                                    .endings = "",
                                    .advice = "",
                                    .meant = "a description of the data set"};
constexpr FileKind kLabelFiles = {
    .noun = "file of labels", .nouns = "files of labels", .endings = "", .advice = "", .meant = "a file of labels"};

// "labels/train" for "images/train", as Ultralytics' loader has it: the last step of this name is another one.
std::string labels_beside(const std::string& images) {
  constexpr std::string_view kStep = "/images/";
  const std::string steps = '/' + images + '/';
  const size_t at = steps.rfind(kStep);
  if (at == std::string::npos)
    throw SetupError(Trouble::kUsage,
                     "source.images is \"" + images + "\" without a step \"images\": name the folder `labels` too.");
  std::string labels = steps.substr(0, at) + "/labels/" + steps.substr(at + kStep.size());
  return labels.substr(1, labels.size() - 2);
}

class YoloReader {
 public:
  explicit YoloReader(const SourceOpening& opening)
      : opening_(opening), root_(data_root(opening)), drops_empty_(opening.text("empty") == "drop") {}

  std::unique_ptr<Listing> list() {
    read_names();
    const std::string images = opening_.text("images"), given = opening_.text("labels");
    const std::string labels = given.empty() ? labels_beside(images) : given;
    MatchedFiles matched = match_files(
        root_, {{images, "images", opening_.text("extensions")}, {labels, "labels", "txt", true}}, opening_);
    const std::vector<std::string> texts = read_labels(matched, labels);
    for (size_t row = 0; row < matched.partner_of.size(); ++row) add_picture(matched, row, texts);
    if (images_.paths.size() == 0)
      throw SetupError(Trouble::kUsage, root_.name_of(images) + " has no picture with labels.");
    return finish(std::move(matched));
  }

 private:
  enum List : uint8_t { kBoxes, kLabels, kSegmentations, kLists };

  void read_names() {
    classes_ = config::names_in(opening_.text("names"));
    const std::string file = opening_.text("names_file");
    if (file.empty() || !classes_.empty()) return;
    if (const std::string fault = path_fault(file); !fault.empty())
      throw SetupError(Trouble::kUsage, "source.names_file " + fault + '.');
    description_ = name_data_files({root_.name_of(file)}, kDescriptions, opening_.places, opening_.stop);
    KeptUse unused;  // the listing's use counts pictures and labels
    const std::vector<std::string> texts = whole_texts(
        description_, opening_.indexing(kDescriptions, "yolo names\n" + file, "bytes of descriptions", &unused),
        kNamesBytesMax);
    classes_ = read_yolo_names(texts.front(), description_.files.front().name);
  }

  // Of the files that belong to a picture, by their place among all of them.
  std::vector<std::string> read_labels(const MatchedFiles& matched, const std::string& folder) {
    const FileTree& tree = matched.partners;
    std::vector<std::string> names;
    for (uint64_t i = 0; i < tree.paths.size(); ++i) names.push_back(root_.name_of(tree.paths[i]));
    if (root_.store)
      for (size_t i = 0; i < names.size(); ++i)
        labels_.files.push_back({names[i], tree.identities[i].size, root_.folder + std::string(tree.paths[i]),
                                 root_.store, tree.identities[i]});
    else
      labels_ = name_data_files(names, kLabelFiles, opening_.places, opening_.stop);
    KeptUse use;
    std::vector<std::string> texts = whole_texts(
        labels_, opening_.indexing(kLabelFiles, "yolo labels\n" + folder, "bytes of labels", &use), kYoloBytesMax);
    opening_.use.add(use);
    return texts;
  }

  void add_picture(const MatchedFiles& matched, uint64_t row, const std::vector<std::string>& texts) {
    const uint32_t number = matched.partner_of[row];
    YoloLabels labels;
    if (number != kNoPartner) labels = read_yolo(texts[number], classes_.size());
    for (const std::string& fault : labels.faults)
      parts_.remarks.add_missing(labels_.files[number].name + ": " + fault + '.');
    if (labels.repeated > 0)
      parts_.remarks.add(labels_.files[number].name + ": " + std::to_string(labels.repeated) +
                         (labels.repeated == 1 ? " line repeats another one, and is left out."
                                               : " lines repeat other lines, and are left out."));
    if (drops_empty_ && labels.objects.empty()) return;
    std::array<ListText, kLists> lists;
    for (const YoloObject& object : labels.objects) add_object(object, lists);
    for (size_t i = 0; i < kLists; ++i) lists_[i].add(lists[i].finish());
    images_.paths.add(matched.pictures.paths[row]);
    if (root_.store) images_.identities.push_back(matched.pictures.identities[row]);
    parts_.annotation_of.push_back(number == kNoPartner ? kNoAnnotation : number);
  }

  static void add_object(const YoloObject& object, std::array<ListText, kLists>& lists) {
    const auto list_of = [](const auto& numbers) {
      ListText list;
      for (const double number : numbers) append_number(list.next(), number);
      return list.finish();
    };
    lists[kBoxes].add(list_of(object.box));
    lists[kLabels].add(std::to_string(object.label));
    lists[kSegmentations].add(object.polygon.empty() ? "[]" : '[' + list_of(object.polygon) + ']');
  }

  std::unique_ptr<Listing> finish(MatchedFiles matched) {
    Fingerprint fingerprint;
    for (const std::string_view text : {std::string_view("yolo"), std::string_view(images_.paths.texts())})
      fingerprint.add_text(text);
    for (const TextColumn& list : lists_) fingerprint.add_text(list.texts());
    parts_.fingerprint = fingerprint.digits();
    parts_.root = root_;
    parts_.files.push_back(std::move(images_));
    constexpr std::array<const char*, kLists> kListFields = {"boxes", "labels", "segmentations"};
    for (size_t i = 0; i < kLists; ++i) parts_.lists.push_back({kListFields[i], std::move(lists_[i])});
    parts_.annotations = std::move(labels_.files);
    parts_.classes = std::move(classes_);
    parts_.remarks.add_all(matched.remarks);
    parts_.is_unchanged = [trees = std::move(matched.is_unchanged), labels = std::move(labels_.is_unchanged),
                           names = std::move(description_.is_unchanged)] {
      return trees() && (!labels || labels()) && (!names || names());
    };
    return list_annotated(std::move(parts_));
  }

  const SourceOpening& opening_;
  const DataRoot root_;
  const bool drops_empty_;
  std::vector<std::string> classes_;
  DataFiles description_, labels_;
  AnnotatedParts parts_;
  FileColumn images_{"image", {}};
  std::array<TextColumn, kLists> lists_;
};

}  // namespace

std::unique_ptr<Listing> open_yolo(const SourceOpening& opening) { return YoloReader(opening).list(); }

}  // namespace spdld::source
