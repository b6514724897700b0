#include "proto/key_digests.h"

#include <algorithm>
#include <utility>

#include "proto/text.h"

namespace spdld::proto {
namespace {

constexpr std::string_view kSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kDigestSigns = 11;  // of six bits each, the highest ones first; the first sign has four
constexpr size_t kNamesShown = 5;    // of each kind of difference

using Keys = std::vector<KeyDigest>;

std::string written(uint64_t digest) {
  std::string signs(kDigestSigns, ' ');
  for (size_t i = kDigestSigns; i-- > 0; digest >>= 6) signs[i] = kSigns[digest & 63];
  return signs;
}

std::optional<uint64_t> digest_in(std::string_view signs) {
  if (signs.size() != kDigestSigns || kSigns.find(signs.front()) > 15) return std::nullopt;
  uint64_t digest = 0;
  for (const char sign : signs) {
    const size_t bits = kSigns.find(sign);
    if (bits == std::string_view::npos) return std::nullopt;
    digest = digest << 6 | bits;
  }
  return digest;
}

// How many bytes of the path the first so many steps have, with the '/' behind them; npos: it has no step behind them.
size_t bytes_of_steps(std::string_view path, size_t steps) {
  size_t bytes = 0;
  for (; steps > 0; --steps) {
    const size_t slash = path.find('/', bytes);
    if (slash == std::string_view::npos) return std::string_view::npos;
    bytes = slash + 1;
  }
  return bytes;
}

// How many steps two different paths share, so that one step at least is left of each.
size_t shared_steps(std::string_view before, std::string_view path) {
  size_t steps = 0;
  for (size_t at = 0; at < before.size() && at < path.size() && before[at] == path[at]; ++at)
    if (path[at] == '/') ++steps;
  return steps;
}

bool is_path(std::string_view path) {
  const bool is_sound = !path.empty() && path.size() <= kKeyPathBytesMax && path.front() != '/' && path.back() != '/' &&
                        path.find("//") == std::string_view::npos;
  return is_sound && std::all_of(path.begin(), path.end(), [](char c) {
           return kSigns.find(c) != std::string_view::npos || c == '.' || c == '[' || c == ']' || c == '/';
         });
}

}  // namespace

std::optional<std::string> write_key_digests(const Keys& keys) {
  if (keys.size() > kKeyDigestsMax) return std::nullopt;
  std::string text;
  std::string_view before;
  for (const KeyDigest& key : keys) {
    if (!is_path(key.path)) return std::nullopt;
    const size_t steps = shared_steps(before, key.path);
    text.append(text.empty() ? 0 : 1, ' ').append(steps, '/');
    text.append(key.path, bytes_of_steps(key.path, steps)).append(1, '=').append(written(key.digest));
    if (text.size() > rule_of(TextKind::kKeyDigests).bytes_max) return std::nullopt;
    before = key.path;
  }
  return text;
}

std::optional<Keys> read_key_digests(std::string_view text) {
  if (!text_fault(TextKind::kKeyDigests, text).empty()) return std::nullopt;
  Keys keys;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(' '));
    text.remove_prefix(entry.size());
    if (text.size() == 1) return std::nullopt;  // a blank behind the last key
    if (!text.empty()) text.remove_prefix(1);
    const size_t steps = std::min(entry.find_first_not_of('/'), entry.size());
    const size_t sign = entry.find('=');
    const std::string_view before = keys.empty() ? std::string_view() : std::string_view(keys.back().path);
    const size_t shared = bytes_of_steps(before, steps);
    if (sign == std::string_view::npos || shared == std::string_view::npos || keys.size() == kKeyDigestsMax)
      return std::nullopt;
    KeyDigest key{std::string(before.substr(0, shared)).append(entry.substr(steps, sign - steps)), 0};
    const auto digest = digest_in(entry.substr(sign + 1));
    if (!digest || !is_path(key.path) || shared_steps(before, key.path) != steps || key.path <= before)
      return std::nullopt;
    key.digest = *digest;
    keys.push_back(std::move(key));
  }
  return keys;
}

namespace {

const KeyDigest* find(const Keys& keys, std::string_view path) {
  const auto at = std::lower_bound(keys.begin(), keys.end(), path,
                                   [](const KeyDigest& key, std::string_view wanted) { return key.path < wanted; });
  return at != keys.end() && at->path == path ? &*at : nullptr;
}

bool has_below(const Keys& keys, std::string_view path) {
  const std::string folder = std::string(path) + '/';
  const auto at = std::lower_bound(keys.begin(), keys.end(), folder,
                                   [](const KeyDigest& key, const std::string& wanted) { return key.path < wanted; });
  return at != keys.end() && std::string_view(at->path).starts_with(folder);
}

// The shortest beginning of the path that no key of `others` has: the operation's path, where a whole operation is new.
// Empty: `others` has the key, or has one digest for a group of keys that are told one by one in `own`.
std::string_view missing_in(const Keys& others, const Keys& own, std::string_view path) {
  for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string_view steps = path.substr(0, end);
    const bool is_there = find(others, steps) != nullptr;
    if (!is_there && !has_below(others, steps)) return steps;
    if (end == std::string_view::npos || (is_there && find(own, steps) == nullptr)) return {};
  }
}

std::vector<std::string_view> all_missing_in(const Keys& others, const Keys& own) {
  std::vector<std::string_view> missing;
  for (const KeyDigest& key : own) {
    const std::string_view steps = missing_in(others, own, key.path);
    if (!steps.empty() && std::find(missing.begin(), missing.end(), steps) == missing.end()) missing.push_back(steps);
  }
  return missing;
}

std::vector<std::string_view> changed(const Keys& mine, const Keys& others) {
  std::vector<std::string_view> paths;
  for (const KeyDigest& key : mine) {
    const KeyDigest* const other = find(others, key.path);
    if (other != nullptr && other->digest != key.digest) paths.push_back(key.path);
  }
  return paths;
}

// "seed, order.shuffle and 3 more have other values"
void add_clause(std::string& text, const std::vector<std::string_view>& paths, const char* one, const char* several) {
  if (paths.empty()) return;
  const size_t shown = std::min(paths.size(), kNamesShown), more = paths.size() - shown;
  text += text.empty() ? "" : "; ";
  for (size_t i = 0; i < shown; ++i) {
    std::string name(paths[i]);
    std::replace(name.begin(), name.end(), '/', '.');
    text.append(i == 0 ? "" : i + 1 == shown && more == 0 ? " and " : ", ").append(name);
  }
  if (more > 0) text += " and " + std::to_string(more) + " more";
  text += paths.size() == 1 ? one : several;
}

}  // namespace

std::string key_note(const FingerprintDifference& difference, std::string_view mine, std::string_view other) {
  const auto here = read_key_digests(mine), there = read_key_digests(other);
  if (!here || !there || here->empty() || there->empty()) return {};
  if (mine == other) return difference.is_of_data ? " (and no key of the pipeline)" : "";
  std::string clauses;
  add_clause(clauses, changed(*here, *there), " has another value", " have other values");
  add_clause(clauses, all_missing_in(*there, *here), " is new", " are new");
  add_clause(clauses, all_missing_in(*here, *there), " is gone", " are gone");
  return clauses.empty() ? std::string() : " (" + clauses + ')';
}

}  // namespace spdld::proto
