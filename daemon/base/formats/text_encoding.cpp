#include "daemon/base/formats/text_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "config/text/words.h"

namespace spdld {
namespace {

// The names that iconv is asked for: no file chooses what the C library loads.
constexpr std::array<std::string_view, 44> kEncodings = {
    "UTF-16",       "UTF-16LE",     "UTF-16BE",     "US-ASCII",     "ASCII",        "ISO-8859-1",   "ISO-8859-2",
    "ISO-8859-3",   "ISO-8859-4",   "ISO-8859-5",   "ISO-8859-6",   "ISO-8859-7",   "ISO-8859-8",   "ISO-8859-9",
    "ISO-8859-10",  "ISO-8859-13",  "ISO-8859-14",  "ISO-8859-15",  "ISO-8859-16",  "LATIN1",       "WINDOWS-1250",
    "WINDOWS-1251", "WINDOWS-1252", "WINDOWS-1253", "WINDOWS-1254", "WINDOWS-1255", "WINDOWS-1256", "WINDOWS-1257",
    "WINDOWS-1258", "CP1251",       "CP1252",       "CP437",        "CP850",        "CP866",        "KOI8-R",
    "KOI8-U",       "GB2312",       "GBK",          "GB18030",      "BIG5",         "SHIFT_JIS",    "EUC-JP",
    "EUC-KR",       "UTF-8"};

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper;
}

class Converter {
 public:
  explicit Converter(const std::string& from) : converter_(::iconv_open("UTF-8", from.c_str())) {}
  ~Converter() {
    if (*this) ::iconv_close(converter_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  explicit operator bool() const {
    return converter_ != reinterpret_cast<iconv_t>(-1);  // NOLINT(performance-no-int-to-ptr): iconv's own sign
  }
  // False: bytes have no meaning.
  bool convert(std::string_view text, std::string& to) {
    char* from = const_cast<char*>(text.data());  // which iconv only reads
    size_t left = text.size(), done = 0;
    to.resize(text.size() + kSpare);
    while (true) {
      char* at = to.data() + done;
      size_t room = to.size() - done;
      const size_t code = ::iconv(converter_, left > 0 ? &from : nullptr, &left, &at, &room);
      done = to.size() - room;
      if (code == static_cast<size_t>(-1) && errno != E2BIG) return false;
      if (code != static_cast<size_t>(-1) && left == 0) break;
      if (code == static_cast<size_t>(-1)) to.resize(to.size() * 2);
    }
    to.resize(done);
    return true;
  }

 private:
  static constexpr size_t kSpare = 64;
  iconv_t converter_;
};

constexpr std::string_view kBlanks = " \t\r\n";

// The encoding that the first line of a document names; empty: it names none.
std::string_view declared_encoding(std::string_view xml) {
  constexpr std::string_view kStart = "<?xml", kKey = "encoding";
  if (!xml.starts_with(kStart)) return {};
  std::string_view rest = xml.substr(0, std::min<size_t>(xml.find("?>"), 1024));
  const size_t key = rest.find(kKey);
  if (key == std::string_view::npos) return {};
  rest.remove_prefix(key + kKey.size());
  const size_t equals = rest.find_first_not_of(kBlanks);
  if (equals == std::string_view::npos || rest[equals] != '=') return {};
  rest.remove_prefix(equals + 1);
  const size_t quote = rest.find_first_not_of(kBlanks);
  if (quote == std::string_view::npos || (rest[quote] != '"' && rest[quote] != '\'')) return {};
  const char sign = rest[quote];
  rest.remove_prefix(quote + 1);
  return rest.substr(0, std::min(rest.find(sign), rest.size()));
}

}  // namespace

bool is_known_encoding(std::string_view name) {
  return std::find(kEncodings.begin(), kEncodings.end(), upper_case(name)) != kEncodings.end();
}

Result<std::string> as_utf8(std::string_view text, std::string_view name) {
  const std::string encoding = upper_case(name);
  Converter converter(encoding);
  if (!converter) return Error{Trouble::kContent, "has the encoding " + encoding + ", which is not known here"};
  std::string all;
  if (!converter.convert(text, all))
    return Error{Trouble::kContent, "has bytes that have no meaning in its encoding, " + encoding};
  return all;
}

Result<std::string_view> utf8_of_xml(std::string_view xml, std::string& kept) {
  std::string name;
  if (xml.starts_with("\xff\xfe") || xml.starts_with("\xfe\xff")) {
    name = "UTF-16";
  } else if (xml.starts_with(std::string_view("<\0", 2)) || xml.starts_with(std::string_view("\0<", 2))) {
    name = xml.front() == '<' ? "UTF-16LE" : "UTF-16BE";
  } else if (!xml.starts_with(kByteOrderMark)) {
    name = upper_case(declared_encoding(xml));
    // A declaration that can be read as ASCII is not in UTF-16, whatever it says: a tool has converted the file since.
    if (name.empty() || name == "UTF-8" || name.starts_with("UTF-16")) return xml;
    if (!is_known_encoding(name))
      return Error{Trouble::kContent, "has the encoding \"" + config::printable(name, 40) + "\", which is not read"};
  } else {
    return xml;  // the mark says more than the declaration
  }
  Result<std::string> all = as_utf8(xml, name);
  if (!all) return all.error();
  kept = std::move(*all);
  return std::string_view(kept);
}

}  // namespace spdld
