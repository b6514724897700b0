// Reads XML documents, element by element; expat, which does it, stands behind this header. The text is not
// trusted: its size and depth are bounded, and document types with their entities are refused. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld {

// The steps of a reading. Names come without a prefix; texts come in pieces, as UTF-8, and all pieces together
// are never longer than the document. The root has the depth 1. Views are valid during the call.
class XmlVisitor {
 public:
  virtual ~XmlVisitor() = default;
  virtual void begin(std::string_view name, int depth) = 0;
  virtual void text(std::string_view piece) = 0;
  virtual void end(int depth) = 0;
  // Ends the reading with this error.
  void refuse(Error error) { refusal_ = std::move(error); }
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  std::optional<Error> refusal_;
};

constexpr int kXmlDepthMax = 16;

struct XmlKind {
  std::string what;  // the document, in a sentence
  size_t bytes_max = 0;
  Trouble damage = Trouble::kContent;  // a document that is no XML, or is cut off, is such a trouble
};
// Reads the whole document. Errors begin with `what`: kLimit (longer than `bytes_max`, or too deep), `damage`, kMemory,
// or the visitor's refusal.
Status read_xml(std::string_view xml, const XmlKind& kind, XmlVisitor& visitor);

}  // namespace spdld
