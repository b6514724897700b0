// Texts in other encodings than UTF-8, as annotations and other files of users have them; iconv, which does it, stands
// behind this header. The text is not trusted. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

// Whether texts in the encoding of this name ("ISO-8859-1", "gb2312") are read; upper and lower case are the same.
bool is_known_encoding(std::string_view name);

// The text as UTF-8, at most four times as long. Precondition: is_known_encoding(name). kContent: bytes of the text
// have no meaning in the encoding; the message is a clause.
Result<std::string> as_utf8(std::string_view text, std::string_view name);

// A document of XML as UTF-8, by its byte order mark, else by the encoding that its first line names, else as it
// stands; `kept` holds the bytes where they are new ones. The message of an error is a clause about the document.
Result<std::string_view> utf8_of_xml(std::string_view xml, std::string& kept);

}  // namespace spdld
