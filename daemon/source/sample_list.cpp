#include "daemon/source/sample_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "config/document.h"
#include "daemon/base/result.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

constexpr uint64_t kSamplesBetweenChecks = 4096;  // for `stop`
constexpr size_t kShownBytesMax = 200;            // of a name that is not known

[[noreturn]] void refuse(Trouble trouble, const std::string& message) { throw SetupError(trouble, message); }

std::string read_text(const std::string& path, const std::string& what, Stamps& stamps) {
  const auto refuse_errno = [&] {
    const int error_number = errno;
    refuse(setup_trouble(error_number), what + " can't be read: " + error_words(error_number) + ".");
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) refuse_errno();
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) refuse_errno();
  if (!S_ISREG(status.st_mode)) refuse(Trouble::kUsage, what + " is not a file: it must be one with a name a line.");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > kSampleListBytesMax) {
    refuse(Trouble::kLimit, what + " has " + std::to_string(bytes) + " bytes, more than the limit of " +
                                std::to_string(kSampleListBytesMax) + ".");
  }
  stamps.add(path, status);
  std::string text(bytes, '\0');
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(fd.get(), text.data() + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_errno();
    if (got == 0) break;  // it has been cut since
    done += static_cast<uint64_t>(got);
  }
  text.resize(done);
  return text;
}

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Of a file that is not to be trusted: what steers a terminal is left out.
std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, kShownBytesMax)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return text + (name.size() > kShownBytesMax ? "..." : "");
}

struct Names {
  std::unordered_map<std::string_view, bool> found;
  uint64_t unknown = 0;
  std::string_view first_unknown;
  uint64_t first_unknown_line = 0;

  void miss(std::string_view name, uint64_t line) {
    if (unknown++ == 0) first_unknown = name, first_unknown_line = line;
  }
};

// Calls see(line's text, its number) for each that is not blank.
template <typename See>
void for_each_line(std::string_view text, const See& see) {
  for (uint64_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) see(line, number);
  }
}

int hex_value(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

std::string unescaped(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    name += text[i];
    if (text[i] != '\\') continue;
    const int high = i + 3 < text.size() && text[i + 1] == 'x' ? hex_value(text[i + 2]) : -1;
    const int low = high < 0 ? -1 : hex_value(text[i + 3]);
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

void find_names(Names& names, const Listing& listing, std::vector<uint64_t>& ids, const std::stop_token& stop) {
  if (names.found.empty()) return;
  for (uint64_t id = 0; id < listing.size(); ++id) {
    if (id % kSamplesBetweenChecks == 0) check_stop(stop);
    const std::string name = listing.name(id);
    const auto at = names.found.find(name);
    if (at == names.found.end()) continue;
    at->second = true;
    ids.push_back(id);
  }
}

}  // namespace

void append_exported(std::string& text, const Listing& listing, uint64_t sample) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string name = listing.name(sample);
  const bool is_text = config::is_utf8(name);
  text.append(std::to_string(sample)) += '\t';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !is_text)) {
      text.append("\\x").append(1, kDigits[byte >> 4]) += kDigits[byte & 15];
    } else {
      text += c;
    }
  }
  text += '\n';
}

std::vector<uint64_t> read_sample_list(const std::string& path, std::string_view key, const Listing& listing,
                                       Stamps& stamps, const std::stop_token& stop) {
  const std::string what = std::string(key) + ": " + path;
  std::string text = read_text(path, what, stamps);
  if (text.starts_with(kExportedHead)) text = plain_list(text);
  std::vector<uint64_t> ids;
  Names names;
  const auto id_of = [&](std::string_view line) {  // the listing's size where it is none
    uint64_t id = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    return error == std::errc() && id < listing.size() ? id : listing.size();
  };
  for_each_line(text, [&](std::string_view line, uint64_t) {
    if (!is_number(line))
      names.found.emplace(line, false);
    else if (const uint64_t id = id_of(line); id < listing.size())
      ids.push_back(id);
  });
  find_names(names, listing, ids, stop);
  for_each_line(text, [&](std::string_view line, uint64_t number) {
    if (is_number(line) ? id_of(line) == listing.size() : !names.found.at(line)) names.miss(line, number);
  });
  if (names.unknown != 0) {
    const uint64_t others = names.unknown - 1;
    refuse(Trouble::kUsage,
           what + ", line " + std::to_string(names.first_unknown_line) + ": no sample is called \"" +
               shown(names.first_unknown) + "\"" +
               (others == 0 ? "" : ", and so it is with " + std::to_string(others) + " more of its lines") +
               "; a line is a sample's name, such as \"" + shown(listing.name(0)) + "\", or its id, at most " +
               std::to_string(listing.size() - 1) + ".");
  }
  return ids;
}

}  // namespace spdld::source
