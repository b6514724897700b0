#include "daemon/source/lists/sample_list.h"

#include <algorithm>

#include "daemon/source/lists/list_file.h"
#include "proto/hex.h"
#include "utf8/utf8.h"

namespace spdld::source {
namespace {

std::string unescaped(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    name += text[i];
    if (text[i] != '\\') continue;
    const int high = i + 3 < text.size() && text[i + 1] == 'x' ? hex_digit(text[i + 2]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 3]);
    if (low >= 0) name.back() = static_cast<char>(high * 16 + low);
    i += low >= 0 ? 3 : 1;
  }
  return name;
}

// The plain list that an exported listing means, line by line. A name that a line can't hold is its id there.
std::string plain_list(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t tab = line.find('\t');
    if (!line.starts_with('#')) {
      const std::string name = unescaped(tab == std::string_view::npos ? line : line.substr(tab + 1));
      const bool fits = name.find('\n') == std::string::npos && !name.ends_with('\r');
      plain += fits || tab == std::string_view::npos ? name : std::string(line.substr(0, tab));
    }
    plain += '\n';
  }
  return plain;
}

}  // namespace

std::string exported_head(const Listing& listing) {
  return std::string(kExportedHead) + "\n# fingerprint " + listing.fingerprint() + "\n# samples " +
         std::to_string(listing.size()) + "\n";
}

void append_exported(std::string& text, const Listing& listing, uint64_t sample) {
  const std::string name = listing.name(sample);
  const bool is_text = utf8::is_utf8(name);
  text.append(std::to_string(sample)) += '\t';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_text)) {
      append_hex(text += "\\x", byte);
    } else {
      text += c;
    }
  }
  text += '\n';
}

std::vector<uint64_t> read_sample_list(const std::string& path, std::string_view key, const Listing& listing,
                                       Stamps& stamps, const std::stop_token& stop) {
  const bool is_file = config::is_list_path(path);
  const std::string what = is_file ? std::string(key) + ": " + path : std::string(key);
  std::string text = is_file ? read_list_file(path, what, listing, stamps) : path.substr(1);
  if (text.starts_with(kExportedHead)) text = plain_list(text);
  std::vector<NamedLine> lines;
  for_each_line(text, [&](std::string_view line, uint64_t number) { lines.push_back({line, number}); });
  std::vector<uint64_t> ids;
  for (const NamedSample& sample : find_samples(lines, what, listing, stop)) ids.push_back(sample.id);
  return ids;
}

}  // namespace spdld::source
