#include "daemon/source/archive_index.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <unordered_set>

#include "daemon/base/result.h"
#include "daemon/source/parts.h"
#include "daemon/source/tar.h"
#include "daemon/store/unpack/unpacked_view.h"

namespace spdld::source {
namespace {

struct KeyAndExtension {
  std::string_view key;  // empty: the name has none
  std::string extension;
};

KeyAndExtension split(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return {};
  std::string extension(name.substr(dot + 1));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return {name.substr(0, dot), std::move(extension)};
}

// "__name__" at the start, then the end or a slash: the package's own notes about an archive.
bool is_meta(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

// "x/._1.jpg", as tar on macOS puts beside every file; the package passes such names over as well.
bool is_hidden(std::string_view name) {
  const size_t slash = name.rfind('/');
  return name.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with('.');
}

class Indexer {
 public:
  explicit Indexer(const std::string& path, std::string_view name) : path_(path), name_(name) {}

  void add(const TarMember& member) {
    if (is_meta(member.name) || is_hidden(member.name)) return;
    const auto [key, extension] = split(member.name);
    if (key.empty()) return remark("the member " + member.name + " has no key and extension, such as 0001.jpg");
    if (extension == "path") return remark("the member " + member.name + " would hide the field \"path\"");
    const size_t number = number_of(extension);
    if (key != last_key_) begin_sample(key);
    const auto first = index_.members.begin() + static_cast<ptrdiff_t>(index_.first_members.back());
    if (std::any_of(first, index_.members.end(), [&](const Member& m) { return m.extension == number; })) {
      return miss("the member " + member.name + " is there twice");
    }
    index_.members.push_back({member.offset, member.size, number});
  }

  void add_unreadable(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) miss("a sparse member, or one with too long a name,");
  }

  // `damage`: of the archive's bytes, as View::find_damage() has it.
  ArchiveIndex finish(const TarReader& tar, const std::string& damage) {
    if (repeated_ != 0) {
      index_.remarks.add(std::string(name_) + ": " + std::to_string(repeated_) +
                         " samples have the key of an earlier one, the first \"" + repeated_key_ +
                         "\"; where their members only stand apart, pack it again with tar --sort=name.");
    }
    if (tar.end() == TarEnd::kNoMark && damage.empty()) {
      index_.remarks.add_missing(std::string(name_) + ": it has no end mark, so its tail may be missing.");
    }
    if (tar.end() == TarEnd::kCut || tar.end() == TarEnd::kDamaged || !damage.empty()) {
      // A sample that lost members, or may have, is not one of those before the cut.
      const KeyAndExtension cut = split(tar.cut_member());
      if (tar.end() != TarEnd::kMark && (cut.key.empty() || cut.key == last_key_)) drop_last_sample();
      index_.remarks.add_missing(std::string(name_) + ": " + (damage.empty() ? end_words(tar) : damage) + "; the " +
                                 std::to_string(index_.key_starts.size()) + " samples before are used.");
    } else if (index_.key_starts.empty()) {
      index_.remarks.add(std::string(name_) + ": it holds no sample.");
    }
    return std::move(index_);
  }

 private:
  void remark(const std::string& what) { index_.remarks.add(passed_over(what)); }
  void miss(const std::string& what) { index_.remarks.add_missing(passed_over(what)); }
  std::string passed_over(const std::string& what) const {
    return std::string(name_) + ": " + what + " and was passed over.";
  }

  static std::string end_words(const TarReader& tar) {
    const std::string what = tar.end() == TarEnd::kCut ? "it is cut" : tar.damage();
    const std::string size =
        tar.file_size() == store::View::kSizeUnknown ? "" : " of " + std::to_string(tar.file_size());
    return what + " at byte " + std::to_string(tar.position()) + size;
  }

  size_t number_of(const std::string& extension) {
    auto& all = index_.extensions;
    const auto found = std::find(all.begin(), all.end(), extension);
    if (found != all.end()) return static_cast<size_t>(found - all.begin());
    all.push_back(extension);
    if (all.size() > kExtensionsMax) refuse_extensions(all, "the archive " + path_);
    return all.size() - 1;
  }

  void begin_sample(std::string_view key) {
    last_key_ = key;
    if (!seen_.insert(std::hash<std::string_view>()(key)).second && ++repeated_ == 1) repeated_key_ = key;
    index_.key_starts.push_back(index_.keys.size());
    index_.first_members.push_back(index_.members.size());
    index_.keys.append(key) += '\0';
  }

  void drop_last_sample() {
    if (index_.key_starts.empty()) return;
    index_.keys.resize(index_.key_starts.back());
    index_.members.resize(index_.first_members.back());
    index_.key_starts.pop_back();
    index_.first_members.pop_back();
  }

  const std::string& path_;
  std::string_view name_;
  std::string last_key_;
  std::unordered_set<size_t> seen_;  // hashes of keys: two of one hash are a remark too many, no more
  uint64_t repeated_ = 0;
  std::string repeated_key_;  // the first of them
  ArchiveIndex index_;
};

[[noreturn]] void refuse_archive(const TarReader& tar, const std::string& damage, const std::string& path) {
  if (tar.file_size() == 0 && damage.empty())
    throw SetupError(Trouble::kUsage, "the archive " + path + " is empty (0 bytes): make it again.");
  std::string why = damage.empty() ? tar.damage() : damage;
  if (why.empty()) why = "it is shorter than a header";
  throw SetupError(Trouble::kUsage,
                   path + " is not a tar archive (" + why + "): give .tar files, or .tar.gz or .tar.zst files.");
}

}  // namespace

void refuse_extensions(const std::vector<std::string>& extensions, const std::string& where) {
  std::string some;
  for (size_t i = 0; i < extensions.size() && i < 5; ++i) some += extensions[i].substr(0, 40) + ", ";
  throw SetupError(Trouble::kLimit, where + " has members of more than " + std::to_string(kExtensionsMax) +
                                        " extensions (" + some +
                                        "...): an extension begins at a name's first dot, so keys must have none.");
}

namespace {

ArchiveIndex index_tar(store::View& archive, const std::string& path, std::string_view name,
                       std::atomic<uint64_t>& done, const std::stop_token& stop) {
  TarReader tar(archive, path);
  Indexer indexer(path, name);
  TarMember member;
  uint64_t told = 0;
  while (tar.next(member)) {
    check_stop(stop);
    indexer.add_unreadable(tar.take_unreadable());
    indexer.add(member);
    done.fetch_add(tar.position() - told, std::memory_order_relaxed);
    told = tar.position();
  }
  const Result<std::string> damage = archive.find_damage();
  if (!damage) throw SetupError(damage.error().trouble, damage.error().message);
  const bool no_header = tar.position() == 0 && tar.end() != TarEnd::kMark && tar.cut_member().empty();
  if (no_header) refuse_archive(tar, *damage, path);
  indexer.add_unreadable(tar.take_unreadable());
  done.fetch_add(tar.file_size() - told, std::memory_order_relaxed);
  return indexer.finish(tar, *damage);
}

}  // namespace

uint64_t ArchiveIndex::end() const { return members.empty() ? 0 : members.back().offset + members.back().size; }

ArchiveIndex index_archive(store::View& archive, const std::string& path, std::string_view name,
                           std::atomic<uint64_t>& done, const std::stop_token& stop) {
  std::array<uint8_t, store::unpack::kMagicBytes> start{};
  const Result<uint64_t> got = archive.read(0, start);
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  const Compression compression = store::unpack::compression_of(std::span(start).first(*got));
  if (!is_unpacked(compression)) return index_tar(archive, path, name, done, stop);
  std::atomic<uint64_t> ignored{0};
  store::unpack::UnpackedView unpacked(archive, compression, done, stop);
  ArchiveIndex index = index_tar(unpacked, path, name, ignored, stop);
  index.compression = compression;
  index.unpacker_bytes = unpacked.memory_bytes();
  done.fetch_add(archive.size() - unpacked.packed_position(), std::memory_order_relaxed);
  return index;
}

}  // namespace spdld::source
