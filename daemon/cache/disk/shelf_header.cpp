#include "daemon/cache/disk/shelf_header.h"

#include <charconv>

#include "daemon/source/fingerprint.h"

namespace spdld::cache {
namespace {

// Another number where entries or the index are laid out otherwise: shelves of another format are made anew.
constexpr std::string_view kTitle = "spdld cache shelf, format 1";

// A value is what stands after its name, up to the end of the line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\') out += c;
      out += c;
    }
  }
  return out;
}

std::string plain(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

// Takes the next line off; false: it does not begin so.
bool take_line(std::string_view& text, std::string_view beginning, std::string_view& rest) {
  const size_t end = text.find('\n');
  if (end == text.npos || text.substr(0, beginning.size()) != beginning) return false;
  rest = text.substr(beginning.size(), end - beginning.size());
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

std::string key_digits(const ShelfKey& key) {
  source::Fingerprint hash;
  hash.add_text(key.uri);
  hash.add_text(key.fingerprint);
  hash.add_text(key.field);
  hash.add_text(key.representation);
  return hash.digits();
}

std::string header_text(const ShelfHeader& header) {
  return std::string(kTitle) + "\nuri: " + escaped(header.key.uri) +
         "\nfingerprint: " + escaped(header.key.fingerprint) + "\nfield: " + escaped(header.key.field) +
         "\nrepresentation: " + escaped(header.key.representation) + "\nsamples: " + std::to_string(header.samples) +
         '\n';
}

std::optional<ShelfHeader> read_header(std::string_view text) {
  std::string_view nothing, uri, fingerprint, field, representation, samples;
  if (!take_line(text, kTitle, nothing) || !nothing.empty() || !take_line(text, "uri: ", uri) ||
      !take_line(text, "fingerprint: ", fingerprint) || !take_line(text, "field: ", field) ||
      !take_line(text, "representation: ", representation) || !take_line(text, "samples: ", samples)) {
    return {};
  }
  ShelfHeader header;
  header.key = {plain(uri), plain(fingerprint), plain(field), plain(representation)};
  const auto [end, error] = std::from_chars(samples.data(), samples.data() + samples.size(), header.samples);
  if (error != std::errc() || end != samples.data() + samples.size()) return {};
  return header;
}

}  // namespace spdld::cache
