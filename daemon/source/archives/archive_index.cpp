#include "daemon/source/archives/archive_index.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/archives/archive_links.h"
#include "daemon/source/archives/tar.h"
#include "daemon/source/lists/list_file.h"
#include "daemon/source/parts.h"
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

// Says of a member why its bytes can't be given; empty: they can, or the member is a link.
std::string_view words_of_member(TarMemberKind kind) {
  switch (kind) {
    case TarMemberKind::kSpecial:
      return "is a device or a FIFO";
    case TarMemberKind::kSparse:
      return "is a sparse file, whose bytes do not lie together,";
    case TarMemberKind::kContinued:
      return "is the rest of a file that begins in another volume";
    default:
      return {};
  }
}

// The same of what a link ends at: a subordinate clause.
std::string clause_of_end(ArchiveLinks::End end) {
  const auto clause = [](std::string_view words) {
    return "which " + std::string(words) + (words.ends_with(',') ? "" : ",");
  };
  switch (end) {
    case ArchiveLinks::End::kOutside:
      return clause("lies outside of the archive");
    case ArchiveLinks::End::kCircle:
      return clause("leads round in a circle of links, or through too many");
    case ArchiveLinks::End::kFolder:
      return clause("is a folder");
    case ArchiveLinks::End::kSpecial:
      return clause(words_of_member(TarMemberKind::kSpecial));
    case ArchiveLinks::End::kSparse:
      return clause(words_of_member(TarMemberKind::kSparse));
    case ArchiveLinks::End::kContinued:
      return clause(words_of_member(TarMemberKind::kContinued));
    case ArchiveLinks::End::kTooMany:
      return clause("is one of too many for one archive");
    default:
      return clause("the archive does not hold");
  }
}

class Indexer {
 public:
  explicit Indexer(const std::string& path, std::string_view name) : path_(path), name_(name) {}

  void add(const TarMember& member) {
    const std::optional<uint32_t> link = member.is_link() ? links_.add(member) : std::nullopt;
    if (member.kind == TarMemberKind::kFolder) return;
    if (member.kind == TarMemberKind::kRenames) return miss("a list of long names, as GNU tar before 1.11 wrote them,");
    if (is_meta(member.name) || is_hidden(member.name)) return;
    const auto what = [&] { return "the member " + shown(member.name) + ' '; };
    const auto [key, extension] = split(member.name);
    if (member.kind == TarMemberKind::kSpecial) return remark(what().append(words_of_member(member.kind)));
    if (key.empty()) return remark(what() + "has no key and extension, such as 0001.jpg");
    if (extension == "path") return remark(what() + "would hide the field \"path\"");
    if (const std::string_view why = words_of_member(member.kind); !why.empty()) return miss(what().append(why));
    if (member.name.size() > kTarNameMax)
      return miss(what() + "has a name of " + std::to_string(member.name.size()) + " bytes");
    if (member.is_link() && !link) return miss(what() + "is one of too many links");
    if (member.unknown_type != 0)
      say(what() + "is of the unknown type \"" + shown({&member.unknown_type, 1}) + "\", and is read as a file.");
    const size_t number = number_of(extension);
    if (key != last_key_ || member.part != last_part_) begin_sample(key);
    last_part_ = member.part;
    const auto first = index_.members.begin() + static_cast<ptrdiff_t>(index_.first_members.back());
    if (std::any_of(first, index_.members.end(), [&](const Member& m) { return m.extension == number; }))
      return miss(what() + "is there twice");
    if (link) pending_.push_back({index_.members.size(), *link});
    index_.members.push_back({member.offset, member.size, number});
  }

  // Whether there are links to follow; then the archive is read again, and each member goes to links().see().
  bool begin_links(const std::stop_token& stop) {
    while (!pending_.empty() && pending_.back().member >= index_.members.size()) pending_.pop_back();
    for (const Pending& pending : pending_) {
      check_stop(stop);
      links_.want(pending.link);
    }
    return !pending_.empty();
  }
  ArchiveLinks& links() { return links_; }
  // Gives each link the place of its file. Links without one are passed over.
  void end_links(const std::stop_token& stop) {
    std::vector<bool> is_lost(index_.members.size());
    bool are_lost = false;
    for (const Pending& pending : pending_) {
      check_stop(stop);
      const ArchiveLinks::Found found = links_.find(pending.link);
      Member& member = index_.members[pending.member];
      if (found.end == ArchiveLinks::End::kFile) {
        member.offset = found.offset;
        member.size = found.size;
        continue;
      }
      is_lost[pending.member] = are_lost = true;
      lose(pending, found.end);
    }
    if (are_lost) drop_members(is_lost);
  }

  // After a cut: a sample that lost members, or may have, is not one of those before the cut.
  void drop_cut(const TarReader& tar) {
    const KeyAndExtension cut = split(tar.cut_member());
    if (tar.end() != TarEnd::kMark && (cut.key.empty() || cut.key == last_key_)) drop_last_sample();
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
    tell_joints(tar);
    if (is_broken(tar, damage)) {
      index_.remarks.add_missing(std::string(name_) + ": " + (damage.empty() ? end_words(tar) : damage) + "; the " +
                                 std::to_string(index_.key_starts.size()) + " samples before are used.");
    } else if (index_.key_starts.empty()) {
      index_.remarks.add(std::string(name_) + ": it holds no sample.");
    }
    return std::move(index_);
  }

  static bool is_broken(const TarReader& tar, const std::string& damage) {
    return tar.end() == TarEnd::kCut || tar.end() == TarEnd::kDamaged || !damage.empty();
  }

 private:
  struct Pending {
    uint64_t member;
    uint32_t link;
  };

  // Says which bytes stand behind blocks of zeros.
  void tell_joints(const TarReader& tar) {
    const std::string at = " at byte " + std::to_string(tar.tail().at);
    if (tar.joined_archives() > 0)
      say("it is " + std::to_string(tar.joined_archives() + 1) + " archives, one behind the other: all are read.");
    if (tar.lone_zero_blocks() > 0)
      say("a lone block of zeros stands at byte " + std::to_string(tar.first_lone_zero_block()) +
          (tar.lone_zero_blocks() > 1 ? " (and " + std::to_string(tar.lone_zero_blocks() - 1) + " more)" : "") +
          ": what follows is read.");
    if (tar.tail().kind == TarTailKind::kOther)
      say("behind its end mark," + at + ", stands something that is no tar archive, and was passed over.");
    if (tar.tail().kind == TarTailKind::kUnseen)
      say("behind its end mark stand zeros up to byte " + std::to_string(tar.tail().at) +
          "; what follows was not looked at.");
    if (tar.tail().kind == TarTailKind::kArchive)
      index_.remarks.add_missing(std::string(name_) + ": behind its end mark," + at +
                                 ", stands what looks like another tar archive, but its first header is damaged or "
                                 "does not begin at a multiple of 512 bytes: it was passed over.");
  }

  void say(const std::string& sentence) { index_.remarks.add(std::string(name_) + ": " + sentence); }
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

  // A link to a folder is no loss: what lies in the folder has members of its own.
  void lose(const Pending& pending, ArchiveLinks::End end) {
    const auto after = std::upper_bound(index_.first_members.begin(), index_.first_members.end(), pending.member);
    const auto sample = static_cast<size_t>(after - index_.first_members.begin()) - 1;
    const std::string member = std::string(index_.keys.c_str() + index_.key_starts[sample]) + '.' +
                               index_.extensions[index_.members[pending.member].extension];
    std::string what = "the member " + shown(member) + " is a link to " + shown(links_.target_of(pending.link)) + ", ";
    what += clause_of_end(end);
    end == ArchiveLinks::End::kFolder ? remark(what) : miss(what);
  }

  // And the samples and extensions that have no member then.
  void drop_members(const std::vector<bool>& is_lost) {
    ArchiveIndex all = std::move(index_);
    index_ = {};
    index_.remarks = std::move(all.remarks);
    std::vector<size_t> numbers(all.extensions.size(), SIZE_MAX);
    for (size_t sample = 0; sample < all.key_starts.size(); ++sample) {
      const uint64_t end = sample + 1 < all.first_members.size() ? all.first_members[sample + 1] : all.members.size();
      bool is_begun = false;
      for (uint64_t i = all.first_members[sample]; i < end; ++i) {
        if (is_lost[i]) continue;
        if (!std::exchange(is_begun, true)) append_sample(all.keys.c_str() + all.key_starts[sample]);
        Member member = all.members[i];
        size_t& number = numbers[member.extension];
        if (number == SIZE_MAX) number = number_of(all.extensions[member.extension]);
        member.extension = number & 0xff;
        index_.members.push_back(member);
      }
    }
  }

  void append_sample(std::string_view key) {
    index_.key_starts.push_back(index_.keys.size());
    index_.first_members.push_back(index_.members.size());
    index_.keys.append(key) += '\0';
  }

  void begin_sample(std::string_view key) {
    last_key_ = key;
    if (!seen_.insert(std::hash<std::string_view>()(key)).second && ++repeated_ == 1) repeated_key_ = key;
    append_sample(key);
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
  uint32_t last_part_ = 0;
  std::unordered_set<size_t> seen_;  // hashes of keys: two of one hash are a remark too many, no more
  uint64_t repeated_ = 0;
  std::string repeated_key_;  // the first of them
  ArchiveIndex index_;
  ArchiveLinks links_;
  std::vector<Pending> pending_;  // members that are links, in order
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

using UseView = std::function<void(store::View&)>;

// `read_again` calls with a view of the archive's beginning.
ArchiveIndex index_tar(store::View& archive, const std::string& path, std::string_view name,
                       std::atomic<uint64_t>& done, const std::stop_token& stop,
                       const std::function<void(const UseView&)>& read_again) {
  TarReader tar(archive, path);
  Indexer indexer(path, name);
  TarMember member;
  uint64_t told = 0;
  while (tar.next(member)) {
    check_stop(stop);
    indexer.add(member);
    done.fetch_add(tar.position() - told, std::memory_order_relaxed);
    told = tar.position();
  }
  const Result<std::string> damage = archive.find_damage();
  if (!damage) throw SetupError(damage.error().trouble, damage.error().message);
  const bool no_header = tar.position() == 0 && tar.end() != TarEnd::kMark && tar.cut_member().empty();
  if (no_header) refuse_archive(tar, *damage, path);
  done.fetch_add(tar.file_size() - told, std::memory_order_relaxed);
  if (Indexer::is_broken(tar, *damage)) indexer.drop_cut(tar);
  if (indexer.begin_links(stop)) {
    read_again([&](store::View& view) {
      TarReader again(view, path);
      while (again.next(member)) {
        check_stop(stop);
        indexer.links().see(member);
      }
    });
    indexer.end_links(stop);
  }
  return indexer.finish(tar, *damage);
}

}  // namespace

uint64_t ArchiveIndex::end() const {
  uint64_t end = 0;
  for (const Member& member : members) end = std::max(end, member.offset + member.size);
  return end;
}

ArchiveIndex index_archive(store::View& archive, const std::string& path, std::string_view name,
                           std::atomic<uint64_t>& done, const std::stop_token& stop) {
  std::array<uint8_t, store::unpack::kMagicBytes> start{};
  const Result<uint64_t> got = archive.read(0, start);
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  const Compression compression = store::unpack::compression_of(std::span(start).first(*got));
  if (!is_unpacked(compression))
    return index_tar(archive, path, name, done, stop, [&](const UseView& use) { use(archive); });
  std::atomic<uint64_t> ignored{0};
  store::unpack::UnpackedView unpacked(archive, compression, done, stop);
  ArchiveIndex index = index_tar(unpacked, path, name, ignored, stop, [&](const UseView& use) {
    store::unpack::UnpackedView again(archive, compression, ignored, stop);
    use(again);
  });
  index.compression = compression;
  index.unpacker_bytes = unpacked.memory_bytes();
  done.fetch_add(archive.size() - unpacked.packed_position(), std::memory_order_relaxed);
  return index;
}

}  // namespace spdld::source
