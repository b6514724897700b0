#include "daemon/source/annotations/voc_annotation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/formats/xml_reader.h"
#include "daemon/source/annotations/list_text.h"

namespace spdld::source {
namespace {

constexpr size_t kTextBytesMax = 4096;  // of an element that is read
constexpr std::array<std::string_view, 4> kCorners = {"xmin", "ymin", "xmax", "ymax"};

// An element of an object that is read.
enum Element : uint8_t { kXMin, kYMin, kXMax, kYMax, kName, kDifficult, kTruncated, kElements };

// The text of a difficult or truncated is 0 or 1, the part of the object that is cut off, or a word. None: neither.
std::optional<bool> flag_of(std::string_view text) {
  std::string word(text);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (word.empty() || word == "unspecified" || word == "unknown" || word == "false" || word == "no") return false;
  if (word == "true" || word == "yes") return true;
  const std::optional<double> number = finite_number(word);
  return number ? std::optional(*number > 0) : std::nullopt;
}

// Elements that stand in an annotation's root, whatever name tools have given the root.
constexpr std::array<std::string_view, 7> kParts = {"object", "filename",  "folder", "size",
                                                    "source", "segmented", "path"};

class VocVisitor final : public XmlVisitor {
 public:
  explicit VocVisitor(const std::string& what) : what_(what) {}
  VocAnnotation take() { return std::move(annotation_); }

  void begin(std::string_view name, int depth) override {
    open_ = nullptr;
    if (depth == 1) is_known_ = name == "annotation";
    if (depth == 2) begin_part(name);
    if (depth == 3 && is_in_object_) is_in_box_ = name == "bndbox";
    if (is_in_object_) open_ = element_of(name, depth);
    if (open_ != nullptr && open_->has_value()) is_twice_ = true;
    if (open_ != nullptr) *open_ = std::string();
  }
  void text(std::string_view piece) override {
    if (open_ != nullptr && (*open_)->size() <= kTextBytesMax) (*open_)->append(piece);
  }
  void end(int depth) override {
    open_ = nullptr;
    if (depth == 1 && !is_known_)
      refuse({Trouble::kContent, what_ + " is no annotation in the form of PASCAL VOC: its root is another."});
    if (depth == 3) is_in_box_ = false;
    if (depth != 2 || !is_in_object_) return;
    is_in_object_ = false;
    ++count_;
    VocObject object;
    const std::string fault = is_twice_ ? "has an element twice" : read(object);
    if (fault.empty())
      annotation_.objects.push_back(std::move(object));
    else
      annotation_.faults.push_back("the object " + std::to_string(count_) + ' ' + fault);
  }

 private:
  using Text = std::optional<std::string>;

  void begin_part(std::string_view name) {
    is_known_ = is_known_ || std::find(kParts.begin(), kParts.end(), name) != kParts.end();
    is_in_object_ = name == "object";
    is_in_box_ = is_twice_ = false;
    texts_ = {};
  }

  // Null: it is none of those. A part of a person has a name and a box of its own, deeper.
  Text* element_of(std::string_view name, int depth) {
    if (depth == 4 && is_in_box_) {
      const auto corner = std::find(kCorners.begin(), kCorners.end(), name);
      return corner == kCorners.end() ? nullptr : &texts_[static_cast<size_t>(corner - kCorners.begin())];
    }
    if (depth != 3) return nullptr;
    if (name == "name") return &texts_[kName];
    if (name == "difficult") return &texts_[kDifficult];
    return name == "truncated" ? &texts_[kTruncated] : nullptr;
  }

  // Returns what is wrong; empty: nothing.
  std::string read(VocObject& object) {
    for (Text& text : texts_) {
      if (text && text->size() > kTextBytesMax) return "has an element with a text that is too long";
      if (text) text = std::string(without_blanks(*text));
    }
    if (!texts_[kName] || texts_[kName]->empty()) return "has no name";
    object.name = *texts_[kName];
    for (size_t i = 0; i < kCorners.size(); ++i) {
      const auto number = texts_[i] ? finite_number(*texts_[i]) : std::nullopt;
      if (!number) return "has no bndbox with a number " + std::string(kCorners[i]);
      object.box[i] = *number;
    }
    if (object.box[2] < object.box[0] || object.box[3] < object.box[1])
      return "has a bndbox that ends before it begins";
    const auto is_difficult = flag_of(texts_[kDifficult].value_or("0")),
               is_truncated = flag_of(texts_[kTruncated].value_or("0"));
    if (!is_difficult || !is_truncated) return "has a difficult or truncated that is no number and no known word";
    object.is_difficult = *is_difficult;
    object.is_truncated = *is_truncated;
    return {};
  }

  const std::string& what_;
  VocAnnotation annotation_;
  uint64_t count_ = 0;     // of the objects that have ended
  bool is_known_ = false;  // as an annotation, by its root or by what stands in it
  bool is_in_object_ = false, is_in_box_ = false, is_twice_ = false;
  std::array<Text, kElements> texts_;
  Text* open_ = nullptr;  // takes text now
};

}  // namespace

Result<VocAnnotation> read_voc(std::string_view xml, const std::string& what) {
  VocVisitor visitor(what);
  std::string kept;
  const Result<std::string_view> text = utf8_of_xml(xml, kept);
  if (!text) return Error{text.error().trouble, what + ' ' + text.error().message + '.'};
  if (const Status read = read_xml(*text, {what, kVocBytesMax}, visitor); !read) return read.error();
  return visitor.take();
}

}  // namespace spdld::source
