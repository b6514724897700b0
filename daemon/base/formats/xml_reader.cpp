#include "daemon/base/formats/xml_reader.h"

#include <expat.h>

#include <climits>
#include <memory>
#include <new>
#include <type_traits>

namespace spdld {
namespace {

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

struct Reading {
  XML_Parser parser;
  XmlVisitor& visitor;
  int depth = 0;
  bool is_too_deep = false, has_type = false, has_no_memory = false;

  // expat is written in C: no exception may pass through it.
  template <typename Step>
  void guarded(Step&& step) noexcept {
    try {
      step();
    } catch (const std::bad_alloc&) {
      has_no_memory = true;
    }
    if (has_no_memory || is_too_deep || has_type || visitor.refusal()) XML_StopParser(parser, XML_FALSE);
  }
};

void begin_element(void* user, const XML_Char* name, const XML_Char**) {
  auto& reading = *static_cast<Reading*>(user);
  reading.guarded([&] {
    if (++reading.depth > kXmlDepthMax) {
      reading.is_too_deep = true;
      return;
    }
    const std::string_view full(name);
    reading.visitor.begin(full.substr(full.rfind(':') + 1), reading.depth);  // npos + 1 is 0
  });
}

void end_element(void* user, const XML_Char*) {
  auto& reading = *static_cast<Reading*>(user);
  reading.guarded([&] { reading.visitor.end(reading.depth--); });
}

void take_text(void* user, const XML_Char* text, int size) {
  auto& reading = *static_cast<Reading*>(user);
  reading.guarded([&] { reading.visitor.text({text, static_cast<size_t>(size)}); });
}

void refuse_type(void* user, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  auto& reading = *static_cast<Reading*>(user);
  reading.guarded([&] { reading.has_type = true; });
}

}  // namespace

Status read_xml(std::string_view xml, const XmlKind& kind, XmlVisitor& visitor) {
  const auto& [what, bytes_max, damage] = kind;
  if (xml.size() > bytes_max || xml.size() > INT_MAX)
    return Error{Trouble::kLimit, what + " has " + std::to_string(xml.size()) + " bytes, more than the limit of " +
                                      std::to_string(bytes_max) + "."};
  // The encoding that the document names does not count: as UTF-8, texts are never longer than the document.
  const Parser parser(XML_ParserCreate("UTF-8"));
  if (!parser) return Error{Trouble::kMemory, "there is no memory to read " + what + "."};
  Reading reading{parser.get(), visitor};
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetCharacterDataHandler(parser.get(), take_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), refuse_type);
  const bool is_read = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE) == XML_STATUS_OK;
  if (visitor.refusal()) return *visitor.refusal();
  if (reading.has_type) return Error{damage, what + " has a document type, which is not read."};
  if (reading.is_too_deep)
    return Error{Trouble::kLimit,
                 what + " has more than " + std::to_string(kXmlDepthMax) + " elements in one another."};
  const XML_Error code = XML_GetErrorCode(parser.get());
  if (reading.has_no_memory || (!is_read && code == XML_ERROR_NO_MEMORY))
    return Error{Trouble::kMemory, "there is no memory to read " + what + "."};
  if (is_read) return Done();
  return Error{damage, what + " is damaged in line " + std::to_string(XML_GetCurrentLineNumber(parser.get())) + ": " +
                           XML_ErrorString(code) + "."};
}

}  // namespace spdld
