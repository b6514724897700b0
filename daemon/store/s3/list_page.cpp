#include "daemon/store/s3/list_page.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "daemon/base/formats/utc_time.h"
#include "daemon/base/formats/xml_reader.h"
#include "daemon/store/s3/encoding.h"
#include "daemon/store/s3/error_text.h"

namespace spdld::store::s3 {
namespace {

constexpr size_t kFieldBytesMax = 3 * kKeyBytesMax;  // encoded
constexpr size_t kPageObjects = 1000;                // as most stores give them

class PageVisitor : public XmlVisitor {
 public:
  PageVisitor(size_t bytes, const std::string& what) : bytes_(bytes), what_(what) {
    page_.text = std::make_unique_for_overwrite<char[]>(bytes);
    page_.objects.reserve(kPageObjects);
  }

  void begin(std::string_view name, int depth) override {
    field_ = Field::kNone;
    start_ = used_;
    if (depth == 1 && name != "ListBucketResult") return refuse_because("is no listing");
    if (depth == 2) begin_outer(name);
    if (depth == 3 && group_ == Group::kObject) begin_of_object(name);
    if (depth == 3 && group_ == Group::kPrefix && name == "Prefix") field_ = Field::kPrefix;
  }

  void text(std::string_view piece) override {
    if (field_ == Field::kNone) return;
    if (used_ - start_ + piece.size() > kFieldBytesMax || piece.size() > bytes_ - used_) return refuse_long_name();
    std::memcpy(page_.text.get() + used_, piece.data(), piece.size());
    used_ += piece.size();
  }

  void end(int depth) override {
    if (field_ != Field::kNone) end_field();
    if (depth != 2) return;
    if (group_ == Group::kObject) end_object();
    group_ = Group::kNone;
  }

  Result<ListPage> take() {
    if (is_truncated_ && page_.next_token.empty()) return error("has more pages, but gives no token for the next");
    if (!is_truncated_) page_.next_token.clear();
    find_signs();
    for (ListedObject& object : page_.objects)
      if (!finish(object.key)) return *refusal();
    for (std::string_view& prefix : page_.prefixes)
      if (!finish(prefix)) return *refusal();
    return std::move(page_);
  }

 private:
  enum class Group : uint8_t { kNone, kObject, kPrefix };
  enum class Field : uint8_t { kNone, kKey, kSize, kETag, kModified, kPrefix, kTruncated, kToken, kEncoding };

  Error error(const char* why) const { return {Trouble::kTransient, what_ + " " + why + "."}; }
  void refuse_because(const char* why) { refuse(error(why)); }

  void begin_outer(std::string_view name) {
    if (name == "Contents") {
      group_ = Group::kObject;
      object_ = {};
      has_size_ = false;
    } else if (name == "CommonPrefixes") {
      group_ = Group::kPrefix;
    } else if (name == "IsTruncated") {
      field_ = Field::kTruncated;
    } else if (name == "NextContinuationToken") {
      field_ = Field::kToken;
    } else if (name == "EncodingType") {
      field_ = Field::kEncoding;
    }
  }

  void begin_of_object(std::string_view name) {
    if (name == "Key")
      field_ = Field::kKey;
    else if (name == "Size")
      field_ = Field::kSize;
    else if (name == "ETag")
      field_ = Field::kETag;
    else if (name == "LastModified")
      field_ = Field::kModified;
  }

  void end_field() {
    const std::string_view text(page_.text.get() + start_, used_ - start_);
    const Field field = std::exchange(field_, Field::kNone);
    switch (field) {
      case Field::kKey:
        object_.key = text;
        return;  // the text is kept, as the next two are
      case Field::kETag:
        object_.etag = text;
        return;
      case Field::kPrefix:
        page_.prefixes.push_back(text);
        return;
      case Field::kSize:
        has_size_ = take_size(text);
        break;
      case Field::kModified:
        object_.modified_s = parse_utc(text).value_or(0);
        break;
      case Field::kTruncated:
        if (text != "true" && text != "false") refuse_because("does not say whether more pages follow");
        is_truncated_ = text == "true";
        break;
      case Field::kToken:
        page_.next_token = text;
        break;
      case Field::kEncoding:
        if (text != "url" && !text.empty()) refuse_because("has an encoding other than url");
        is_encoded_ = text == "url";
        break;
      case Field::kNone:
        break;
    }
    used_ = start_;
  }

  bool take_size(std::string_view text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), object_.size);
    return error == std::errc() && end == text.data() + text.size();
  }

  void end_object() {
    if (object_.key.empty()) return refuse_because("has an object without a key");
    if (!has_size_) return refuse_because("has an object without a size");
    page_.objects.push_back(object_);
  }

  // Looks how blanks and "+" are written.
  void find_signs() {
    const auto look = [this](std::string_view name) {
      has_plus_ = has_plus_ || name.find('+') != std::string_view::npos;
      has_blank_ = has_blank_ || name.find("%20") != std::string_view::npos;
      has_written_plus_ =
          has_written_plus_ || name.find("%2B") != std::string_view::npos || name.find("%2b") != std::string_view::npos;
      // The sign that stands for what a writer of XML could not write; and ends of lines, which XML makes one of.
      page_.has_unsure_sign = page_.has_unsure_sign || name.find("\xef\xbf\xbd") != std::string_view::npos ||
                              name.find_first_of("\n\r") != std::string_view::npos;
    };
    for (const ListedObject& object : page_.objects) look(object.key);
    for (const std::string_view prefix : page_.prefixes) look(prefix);
    page_.has_unsure_sign = page_.has_unsure_sign && !is_encoded_;
    page_.has_unsure_plus = is_encoded_ && has_plus_ && has_blank_ == has_written_plus_;
  }

  // Decodes a name where the page is encoded, and holds it to its limit. False after a refusal.
  bool finish(std::string_view& name) {
    if (is_encoded_) {
      char* const begin = page_.text.get() + (name.data() - page_.text.get());
      const size_t size = decode_in_place(begin, name.size(), has_written_plus_ || !has_blank_);
      if (size == SIZE_MAX) {
        refuse_because("has a name that is encoded wrongly");
        return false;
      }
      name = {begin, size};
    }
    if (name.size() > kKeyBytesMax) {
      refuse_long_name();
      return false;
    }
    return true;
  }
  void refuse_long_name() {
    refuse({Trouble::kLimit, what_ + " has a name of more than " + std::to_string(kKeyBytesMax) + " bytes."});
  }

  const size_t bytes_;
  const std::string& what_;
  ListPage page_;
  size_t start_ = 0, used_ = 0;  // of the field's text; of the page's
  Group group_ = Group::kNone;
  Field field_ = Field::kNone;
  ListedObject object_;
  bool has_size_ = false, is_truncated_ = false, is_encoded_ = false;
  bool has_plus_ = false, has_blank_ = false, has_written_plus_ = false;  // in names: "+", "%20", "%2B"
};

}  // namespace

Result<ListPage> read_list_page(std::string_view xml, const std::string& what) {
  if (xml.size() > kListPageBytesMax) {
    return Error{Trouble::kLimit, what + " has a page of " + std::to_string(xml.size()) +
                                      " bytes, more than the limit of " + std::to_string(kListPageBytesMax) + "."};
  }
  PageVisitor visitor(xml.size(), what);
  const Status status = read_xml(xml, {what, kListPageBytesMax, Trouble::kTransient}, visitor);
  if (status) return visitor.take();
  // A store may find out only after it has sent the status 200 that it can't answer.
  if (const auto text = read_error_text(xml))
    return Error{Trouble::kTransient, what + " failed: " + text->words() + "."};
  return status.error();
}

}  // namespace spdld::store::s3
