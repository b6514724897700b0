#include "daemon/source/archives/archive_links.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace spdld::source {
namespace {

// Goes from a folder to a part of a path below it: "a/b" and ".." are "a". A path that begins with '/' is another one
// than the same path without it, and steps above the beginning stay.
void step_into(std::string& path, std::string_view part) {
  if (part.empty() || part == ".") return;
  const size_t slash = path.rfind('/');
  const std::string_view last = std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  if (part == ".." && path == "/") return;
  if (part == ".." && !path.empty() && last != "..")
    return path.resize(slash == std::string::npos ? 0 : std::max<size_t>(slash, path.front() == '/'));
  if (!path.empty() && path.back() != '/') path += '/';
  path += part;
}

// The next part of a path, and what follows it.
std::string_view take_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

std::string root_of(std::string_view path) { return path.starts_with('/') ? "/" : ""; }

std::string plain_path(std::string_view text) {
  std::string path = root_of(text);
  while (!text.empty()) step_into(path, take_part(text));
  return path;
}

std::string_view folder_part(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash + 1);
}

std::string wanted_key(uint32_t part, std::string_view path) {
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) key += static_cast<char>(part >> shift);
  return key.append(path);
}

ArchiveLinks::End end_of(TarMemberKind kind) {
  switch (kind) {
    case TarMemberKind::kFile:
      return ArchiveLinks::End::kFile;
    case TarMemberKind::kFolder:
      return ArchiveLinks::End::kFolder;
    case TarMemberKind::kSparse:
      return ArchiveLinks::End::kSparse;
    case TarMemberKind::kContinued:
      return ArchiveLinks::End::kContinued;
    default:
      return ArchiveLinks::End::kSpecial;
  }
}

bool goes_deeper(std::string_view rest) { return rest.find_first_not_of('/') != std::string_view::npos; }

}  // namespace

std::optional<uint32_t> ArchiveLinks::add(const TarMember& link) {
  const std::string own = plain_path(link.name);
  const bool is_long = own.size() > kTarNameMax || link.target.size() > kTarNameMax;
  if (is_long || links_ == kLinksMax || texts_.size() + own.size() + link.target.size() > kTextBytesMax) return {};
  all_.push_back({texts_.size(),
                  static_cast<uint32_t>(own.size()),
                  static_cast<uint32_t>(link.target.size()),
                  link.number,
                  link.part,
                  link.kind,
                  {}});
  texts_.append(own).append(link.target);
  return static_cast<uint32_t>(links_++);
}

// Adds the entries up to `end`.
void ArchiveLinks::sort(Order& order, size_t end) const {
  if (order.size() == end) return;
  for (size_t i = order.size(); i < end; ++i) order.push_back(static_cast<uint32_t>(i));
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    const Entry &one = all_[a], &other = all_[b];
    return std::tuple(one.part, name(one), one.number) < std::tuple(other.part, name(other), other.number);
  });
}

// The last entry of this name among the members before this one; null: there is none.
const ArchiveLinks::Entry* ArchiveLinks::last_of(const Order& order, std::string_view path, uint32_t part,
                                                 uint64_t before) const {
  const auto at = std::lower_bound(
      order.begin(), order.end(), std::tuple(part, path, before),
      [this](uint32_t i, const auto& end) { return std::tuple(all_[i].part, name(all_[i]), all_[i].number) < end; });
  if (at == order.begin()) return nullptr;
  const Entry& entry = all_[*std::prev(at)];
  return entry.part == part && name(entry) == path ? &entry : nullptr;
}

const ArchiveLinks::Entry* ArchiveLinks::folder_link(std::string_view path, uint32_t part) const {
  const Entry* const entry = last_of(link_order_, path, part, UINT64_MAX);
  return entry != nullptr && entry->is_symbolic() ? entry : nullptr;
}

// A hard link names a file that was there when the link was made.
uint64_t ArchiveLinks::limit_of(const Entry& link) const { return link.is_symbolic() ? UINT64_MAX : link.number; }

// The path that a link names, with the folders on its way followed; an end: it names none.
std::optional<ArchiveLinks::End> ArchiveLinks::lead(const Entry& link, std::string& path) const {
  std::string way(target(link));
  if (link.is_symbolic() && !way.starts_with('/')) way.insert(0, folder_part(name(link)));
  path = root_of(way);
  unsigned folders = 0;
  std::string_view rest = way;
  while (!rest.empty()) {
    const std::string_view part = take_part(rest);
    step_into(path, part);
    if (path.size() > kTarNameMax) return End::kMissing;
    if (part.empty() || part == "." || part == ".." || !goes_deeper(rest)) continue;
    const Entry* const folder = folder_link(path, link.part);
    if (folder == nullptr) continue;
    if (++folders > kFolderLinksMax) return End::kCircle;
    std::string longer = std::string(target(*folder)) + '/' + std::string(rest);
    if (longer.size() > 2 * kTarNameMax) return End::kCircle;
    path = longer.starts_with('/') ? "/" : std::string(folder_part(path));
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    way = std::move(longer);
    rest = way;
  }
  if (path.empty() || path == "/") return End::kFolder;
  if (path == ".." || path.starts_with("../")) return End::kOutside;
  return {};
}

// Finds the hard links of symbolic ones, by what is known of members. A hard link names a member before it.
void ArchiveLinks::liken(const Order& order) {
  std::string path;
  for (size_t i = 0; i < links_; ++i) {
    Entry& link = all_[i];
    link.like = kNone;
    if (link.is_symbolic() || lead(link, path)) continue;
    const Entry* const named = last_of(order, path, link.part, link.number);
    if (named == nullptr || !named->is_symbolic()) continue;
    link.like = named->like == kNone ? static_cast<uint32_t>(named - all_.data()) : named->like;
  }
}

bool ArchiveLinks::want_path(const Entry& link, const std::string& path) {
  std::string key = wanted_key(link.part, path);
  if (wanted_.contains(key)) return true;
  is_full_ = is_full_ || wanted_bytes_ + key.size() > kTextBytesMax;
  if (is_full_) return false;
  wanted_bytes_ += key.size();
  wanted_.emplace(std::move(key), kNone);
  return true;
}

void ArchiveLinks::want(uint32_t link) {
  sort(link_order_, links_);
  if (!std::exchange(is_likened_, true)) liken(link_order_);
  std::string path;
  for (uint32_t at = link; !std::exchange(all_[at].is_wanted, true);) {
    const Entry& entry = all_[at];
    if (entry.like != kNone) {  // a file between the two would make it another one
      Entry hard = entry;
      hard.like = kNone;
      if (!lead(hard, path) && !want_path(entry, path)) return;
    }
    if (lead(entry, path) || !want_path(entry, path)) return;
    const Entry* const next = last_of(link_order_, path, entry.part, limit_of(entry));
    if (next == nullptr) return;
    at = static_cast<uint32_t>(next - all_.data());
  }
}

bool ArchiveLinks::has_link_between(uint64_t first, uint64_t last) const {
  const auto end = all_.begin() + static_cast<ptrdiff_t>(links_);
  const auto at = std::lower_bound(all_.begin(), end, first,
                                   [](const Entry& link, uint64_t number) { return link.number < number; });
  return at != end && at->number < last;
}

void ArchiveLinks::see(const TarMember& member) {
  if (member.is_link() || member.kind == TarMemberKind::kRenames || member.name.size() > kTarNameMax) return;
  const std::string own = plain_path(member.name);
  const auto wanted = wanted_.find(wanted_key(member.part, own));
  if (wanted == wanted_.end()) return;
  Entry entry{texts_.size(),
              static_cast<uint32_t>(own.size()),
              0,
              member.number,
              member.part,
              member.kind,
              {end_of(member.kind), member.offset, member.size}};
  if (wanted->second != kNone) {
    Entry& before = all_[wanted->second];
    entry.text = before.text;
    // A member that another one of its name replaces counts for hard links between the two alone.
    if (!has_link_between(before.number, entry.number)) {
      before = entry;
      return;
    }
  }
  is_full_ = is_full_ || all_.size() - links_ == kLinksMax;
  if (is_full_) return;
  if (wanted->second == kNone) texts_ += own;
  wanted->second = static_cast<uint32_t>(all_.size());
  all_.push_back(entry);
}

ArchiveLinks::Found ArchiveLinks::find(uint32_t link) {
  if (is_full_) return {End::kTooMany, 0, 0};
  if (order_.size() != all_.size() || order_.empty()) {
    sort(order_, all_.size());
    liken(order_);
  }
  std::vector<uint32_t> way;
  std::string path;
  Found found;
  for (uint32_t at = link;;) {
    Entry& entry = all_[at];
    if (entry.is_found) {
      found = entry.found;
      break;
    }
    found = {End::kCircle, 0, 0};
    if (std::exchange(entry.is_on_way, true)) break;
    way.push_back(at);
    if (const std::optional<End> end = lead(entry, path)) {
      found.end = *end;
      break;
    }
    const Entry* const next = last_of(order_, path, entry.part, limit_of(entry));
    if (next == nullptr) {
      found.end = path.starts_with('/') ? End::kOutside : End::kMissing;
      break;
    }
    at = static_cast<uint32_t>(next - all_.data());
    if (next->is_link()) continue;
    found = next->found;
    break;
  }
  for (const uint32_t passed : way) {
    all_[passed].is_found = true;
    all_[passed].found = found;
  }
  return found;
}

}  // namespace spdld::source
