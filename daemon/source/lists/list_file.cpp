#include "daemon/source/lists/list_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "config/text/words.h"
#include "daemon/base/formats/text_encoding.h"
#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/lists/sample_list.h"
#include "daemon/source/parts.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

constexpr size_t kShownBytesMax = 200;  // of a name

[[noreturn]] void refuse(Trouble trouble, const std::string& message) { throw SetupError(trouble, message); }

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The lines that give one name, chained by their indices.
constexpr uint64_t kNone = UINT64_MAX;
struct Chain {
  uint64_t last = kNone;
  bool found = false;
};

[[noreturn]] void refuse_unknown(std::span<const NamedLine> lines, std::span<const uint64_t> unknown,
                                 const std::string& what, const Listing& listing) {
  const NamedLine& first = lines[unknown.front()];
  const uint64_t others = unknown.size() - 1;
  refuse(Trouble::kUsage,
         what + ", line " + std::to_string(first.line) + ": no sample has the name or id that stands there" +
             (others == 0 ? "" : ", and the same holds for " + std::to_string(others) + " more of its lines") +
             "; a line is a sample's name, such as \"" + shown(listing.name(0)) + "\", or its id, at most " +
             std::to_string(listing.size() - 1) + ".");
}

}  // namespace

std::string read_list_file(const std::string& path, const std::string& what, const Listing& listing, Stamps& stamps) {
  return read_user_file(path, what, kSampleListBytesMax, listing.bounds(), stamps);
}

std::string read_user_file(const std::string& path, const std::string& what, uint64_t bytes_max, const Bounds* bounds,
                           Stamps& stamps) {
  const auto refuse_errno = [&] {
    const int error_number = errno;
    if (error_number == kLeadsOut)
      refuse(Trouble::kDenied, what + " leads out of the folders that the pipeline may read: name a file in them.");
    refuse(setup_trouble(error_number), what + " can't be read: " + error_words(error_number) + ".");
  };
  const UniqueFd fd(bounds == nullptr ? open_file(nullptr, path.c_str()) : bounds->open_list(path.c_str()));
  if (!fd) refuse_errno();
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) refuse_errno();
  if (!S_ISREG(status.st_mode)) refuse(Trouble::kUsage, what + " is not a file: it must be one with a name a line.");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > bytes_max) {
    refuse(Trouble::kLimit, what + " has " + std::to_string(bytes) + " bytes, more than the limit of " +
                                std::to_string(bytes_max) + ".");
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
  check_same_state(fd.get(), kept_state(status), what);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

std::string shown(std::string_view name) { return config::printable(name, kShownBytesMax); }

std::vector<NamedSample> find_samples(std::span<const NamedLine> lines, const std::string& what, const Listing& listing,
                                      const std::stop_token& stop) {
  std::vector<NamedSample> samples;
  std::vector<uint64_t> unknown, before(lines.size(), kNone);
  std::unordered_map<std::string_view, Chain> names;
  for (uint64_t i = 0; i < lines.size(); ++i) {
    const std::string_view name = lines[i].name;
    if (!is_number(name)) {
      Chain& chain = names[name];
      before[i] = std::exchange(chain.last, i);
      continue;
    }
    uint64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error == std::errc() && id < listing.size())
      samples.push_back({i, id});
    else
      unknown.push_back(i);
  }
  if (!names.empty()) {
    for_each_id(listing, stop, [&](uint64_t id) {
      const auto at = names.find(listing.name(id));
      if (at == names.end()) return;
      at->second.found = true;
      for (uint64_t i = at->second.last; i != kNone; i = before[i]) samples.push_back({i, id});
    });
  }
  for (const auto& [name, chain] : names)
    for (uint64_t i = chain.found ? kNone : chain.last; i != kNone; i = before[i]) unknown.push_back(i);
  if (unknown.empty()) return samples;
  std::sort(unknown.begin(), unknown.end());
  refuse_unknown(lines, unknown, what, listing);
}

}  // namespace spdld::source
