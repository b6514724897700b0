#include "daemon/store/s3/error_text.h"

#include <algorithm>

#include "config/text/words.h"
#include "daemon/base/formats/xml_reader.h"

namespace spdld::store::s3 {
namespace {

constexpr size_t kErrorCodeBytesMax = 80, kErrorMessageBytesMax = 300;

class ErrorVisitor : public XmlVisitor {
 public:
  void begin(std::string_view name, int depth) override {
    if (depth == 1 && name != "Error") refuse({Trouble::kUsage, "the document is none of an error."});
    field_ = nullptr;
    if (depth != 2) return;
    if (name == "Code") field_ = &text_.code;
    if (name == "Message") field_ = &text_.message;
    if (name == "Region") field_ = &text_.region;
  }
  void text(std::string_view piece) override {
    if (field_ != nullptr) field_->append(piece);
  }
  void end(int) override { field_ = nullptr; }

  ErrorText take() { return std::move(text_); }

 private:
  ErrorText text_;
  std::string* field_ = nullptr;
};

}  // namespace

std::string ErrorText::words() const { return message.empty() ? code : code + " (" + message + ")"; }

std::optional<ErrorText> read_error_text(std::string_view xml) {
  ErrorVisitor visitor;
  if (!read_xml(xml, {"the error of the store", kErrorBytesMax}, visitor)) return std::nullopt;
  ErrorText text = visitor.take();
  if (text.code.empty()) return std::nullopt;
  text.code = config::printable(text.code, kErrorCodeBytesMax);
  text.message = config::printable(text.message, kErrorMessageBytesMax);
  text.region = config::printable(text.region, kErrorCodeBytesMax);
  return text;
}

}  // namespace spdld::store::s3
