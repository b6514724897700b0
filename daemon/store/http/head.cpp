#include "daemon/store/http/head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/base/random.h"

namespace spdld::store::http {
namespace {

constexpr size_t kTextMax = 1024;  // of a header's value that is kept

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_named(std::string_view name, std::string_view wanted) {
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

// The first coding of a list that compresses (RFC 9110, section 8.4.1); empty: there is none.
std::string_view compression_in(std::string_view codings) {
  constexpr std::array<std::string_view, 7> kKnown = {"gzip",       "x-gzip", "deflate", "compress",
                                                      "x-compress", "br",     "zstd"};
  while (!codings.empty()) {
    const std::string_view part = codings.substr(0, codings.find(','));
    codings.remove_prefix(std::min(codings.size(), part.size() + 1));
    for (const std::string_view known : kKnown)
      if (is_named(without_blanks(part), known)) return known;
  }
  return {};
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

int64_t etag_hash(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  while (!etag.empty() && etag.front() == '"') etag.remove_prefix(1);
  while (!etag.empty() && etag.back() == '"') etag.remove_suffix(1);
  return etag.empty() ? 0 : static_cast<int64_t>(mix_bits(draw_key(etag)) | 1);
}

void Head::take_line(std::string_view line) {
  line = without_blanks(line);
  if (line.starts_with("HTTP/")) {
    *this = {};
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) status = static_cast<int>(number(line.substr(space + 1, 3)).value_or(0));
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon), value = without_blanks(line.substr(colon + 1));
  const auto keep = [&](std::string& text) { text = value.substr(0, kTextMax); };
  if (is_named(name, "content-length"))
    length = number(value);
  else if (is_named(name, "etag"))
    keep(etag);
  else if (is_named(name, "last-modified"))
    keep(last_modified);
  else if (is_named(name, "retry-after"))
    keep(retry_after);
  else if (is_named(name, "content-type"))
    keep(content_type);
  else if (is_named(name, "content-encoding"))
    keep(encoding);
  else if (is_named(name, "x-goog-stored-content-encoding"))
    keep(stored_encoding);
  else if (is_named(name, "x-amz-checksum-crc32c"))
    keep(crc32c);
  else if (is_named(name, "content-md5"))
    keep(content_md5);
  else if (is_named(name, "content-range") && value.starts_with("bytes ")) {
    const std::string_view range = value.substr(6);  // "0-99/1234"
    const size_t dash = range.find('-'), slash = range.find('/');
    if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return;
    range_start = number(range.substr(0, dash));
    object_bytes = number(range.substr(slash + 1));
  }
}

std::string_view Head::compression() const {
  const std::string_view sent = compression_in(encoding);
  return sent.empty() ? compression_in(stored_encoding) : sent;
}

bool Head::is_unpacked_on_the_way() const {
  return compression_in(encoding).empty() && !compression_in(stored_encoding).empty();
}

Identity Head::identity() const {
  const uint64_t size = status == 206 ? object_bytes.value_or(0) : length.value_or(0);
  return {size, etag.empty() ? etag_hash(last_modified) : etag_hash(etag)};
}

}  // namespace spdld::store::http
