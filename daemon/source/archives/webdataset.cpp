// Tar archives as a data set: the index of all of them as one listing.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/archives/archive_index.h"
#include "daemon/source/archives/archive_streams.h"
#include "daemon/source/archives/kept_archives.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse_dataset(Trouble trouble, const std::string& message) { throw SetupError(trouble, message); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// ---- the listing

// All extensions of all archives, sorted: a field's number does not depend on which archive came first.
std::vector<std::string> all_extensions(const std::vector<ArchiveIndex>& indexes, const std::string& path) {
  std::vector<std::string> all;
  for (const ArchiveIndex& index : indexes) {
    for (const std::string& extension : index.extensions) {
      const auto place = std::lower_bound(all.begin(), all.end(), extension);
      if (place == all.end() || *place != extension) all.insert(place, extension);
      if (all.size() > kExtensionsMax) refuse_extensions(all, path);
    }
  }
  return all;
}

class WebDataset : public Listing {
 public:
  // Takes the archives' indexes one after the other, and lets go of each. `origin`: where they lie, for people.
  WebDataset(DataFiles archives, std::vector<ArchiveIndex> indexes, const std::string& origin,
             const ArchiveAccess& access)
      : archives_(std::move(archives)),
        common_(common_folder(archives_.names())),
        store_concurrency_(archives_.store_concurrency()) {
    const std::vector<std::string> extensions = all_extensions(indexes, origin);
    for (const std::string& extension : extensions) fields_.push_back({extension, FieldKind::kFetched});
    fields_.push_back({"path", FieldKind::kText});
    reserve(indexes);
    Fingerprint fingerprint;
    fingerprint.add_text("webdataset");
    std::vector<ArchiveStreams::Archive> contents;
    for (size_t i = 0; i < archives_.files.size(); ++i) {
      ArchiveIndex index = std::move(indexes[i]);
      remarks_.add_all(index.remarks);
      contents.push_back({&archives_.files[i], index.end(), index.compression, index.unpacker_bytes});
      const uint64_t first = key_starts_.size();
      firsts_.push_back(first);
      append(index, extensions);
      fingerprint.add_text(archive_name(i));
      fingerprint.add_number(index.key_starts.size());
      add_samples(fingerprint, first);
    }
    fingerprint_ = fingerprint.digits();
    make_streams(access, contents);
  }

  uint64_t size() const override { return key_starts_.size(); }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    for (const Member& member : members_of(sample)) {
      if (member.extension != field) continue;
      const size_t archive = archive_of(sample);
      Locator locator = archives_.files[archive].at(member.offset, member.size);
      if (store::Store* const stream = streams_.store_of(archive)) {
        locator.store = stream;
        locator.path = archives_.files[archive].name;
        locator.identity = streams_.identity_of(archive);
      }
      return locator;
    }
    return {};
  }
  int64_t integer(uint64_t, FieldId) const override { return 0; }  // it has no field of that kind
  std::string name(uint64_t sample) const override {
    return std::string(archive_name(archive_of(sample))).append(1, ':').append(key(sample));
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override {
    return keys_.capacity() + (key_starts_.capacity() + first_members_.capacity()) * sizeof(uint64_t) +
           members_.capacity() * sizeof(Member);
  }
  std::span<const std::string> classes() const override { return {}; }
  const Remarks& said() const override { return remarks_; }
  bool lacks(uint64_t sample, FieldId field) const override {
    const auto members = members_of(sample);
    return field + size_t{1} < fields_.size() &&  // the last one is path
           std::none_of(members.begin(), members.end(), [&](const Member& m) { return m.extension == field; });
  }
  bool unchanged() const override { return archives_.is_unchanged(); }
  unsigned store_concurrency() const override { return store_concurrency_; }
  std::span<const uint64_t> archive_starts() const override { return firsts_; }
  const Streaming* streaming() const override { return streams_.any() ? &streaming_ : nullptr; }
  // The members of most samples follow one another, and are told as one run of bytes.
  void expect(uint64_t sample, uint64_t place, uint64_t horizon) const override {
    const size_t archive = archive_of(sample);
    store::streams::BlockStore* const store = streams_.store_of(archive);
    if (store == nullptr) return;
    uint64_t first = 0, end = 0;
    const auto tell = [&] { store->expect(archives_.files[archive].name, first, end - first, place, horizon); };
    for (const Member& member : members_of(sample)) {
      if (member.size == 0) continue;
      const bool goes_on = first < end && member.offset >= end && member.offset - end <= store::streams::kBlockBytes;
      if (!goes_on) {
        if (first < end) tell();
        first = member.offset;
      }
      end = member.offset + member.size;
    }
    if (first < end) tell();
  }

 private:
  void make_streams(const ArchiveAccess& access, std::vector<ArchiveStreams::Archive>& contents) {
    const bool may_stream = access.access == config::Access::kStream && store_concurrency_ > 0;
    for (size_t i = 0; i < contents.size(); ++i)
      if (may_stream || contents[i].compression != Compression::kNone) contents[i].useful = useful_bytes(i);
    streams_.make(contents, access);
    if (!streams_.any()) return;
    store_concurrency_ = std::max(store_concurrency_, streams_.concurrency());
    streaming_.bytes_max = streams_.block_bytes_max();
    streaming_.goes_forward = streams_.any_packed();
    for (const Member& member : members_)
      streaming_.bytes += std::min<uint64_t>(member.size, UINT64_MAX - streaming_.bytes);
  }

  // The bytes of an archive's members in each of its blocks, as often as samples have them. Members of many blocks cost
  // no more than others: their whole blocks are counted by where they begin and end.
  std::vector<uint32_t> useful_bytes(size_t archive) const {
    using store::streams::kBlockBytes;
    std::vector<uint64_t> parts, begun,
        ended;  // by block; the latter two: of members whose whole blocks begin, and end
    const auto add = [](std::vector<uint64_t>& to, uint64_t number, uint64_t count) {
      to.resize(std::max<size_t>(to.size(), number + 1));
      to[number] += count;
    };
    const uint64_t last = archive + 1 < firsts_.size() ? firsts_[archive + 1] : size();
    for (uint64_t sample = firsts_[archive]; sample < last; ++sample) {
      for (const Member& member : members_of(sample)) {
        if (member.size == 0) continue;
        const uint64_t end = member.offset + member.size, first = member.offset / kBlockBytes,
                       behind = end / kBlockBytes;
        if (first == behind) {
          add(parts, first, member.size);
          continue;
        }
        add(parts, first, (first + 1) * kBlockBytes - member.offset);
        if (end % kBlockBytes != 0) add(parts, behind, end % kBlockBytes);
        add(begun, first + 1, 1);
        add(ended, behind, 1);
      }
    }
    parts.resize(std::max({parts.size(), begun.size(), ended.empty() ? size_t{0} : ended.size() - 1}));
    std::vector<uint32_t> useful;
    uint64_t whole = 0;  // members that have all of the block
    for (size_t i = 0; i < parts.size(); ++i) {
      whole += (i < begun.size() ? begun[i] : 0) - (i < ended.size() ? ended[i] : 0);
      useful.push_back(static_cast<uint32_t>(std::min<uint64_t>(parts[i] + whole * kBlockBytes, UINT32_MAX)));
    }
    return useful;
  }

  void reserve(const std::vector<ArchiveIndex>& indexes) {
    uint64_t bytes = 0, samples = 0, members = 0;
    for (const ArchiveIndex& index : indexes) {
      bytes += index.keys.size();
      samples += index.key_starts.size();
      members += index.members.size();
    }
    keys_.reserve(bytes);
    key_starts_.reserve(samples);
    first_members_.reserve(samples);
    members_.reserve(members);
  }

  void append(const ArchiveIndex& index, const std::vector<std::string>& extensions) {
    std::vector<uint8_t> fields;  // of the archive's own extension numbers
    for (const std::string& extension : index.extensions) {
      const auto place = std::lower_bound(extensions.begin(), extensions.end(), extension);
      fields.push_back(static_cast<uint8_t>(place - extensions.begin()));
    }
    for (const uint64_t start : index.key_starts) key_starts_.push_back(keys_.size() + start);
    for (const uint64_t first : index.first_members) first_members_.push_back(members_.size() + first);
    for (const Member& member : index.members) {
      members_.push_back({member.offset, member.size, fields[member.extension]});
    }
    keys_ += index.keys;
  }

  void add_samples(Fingerprint& fingerprint, uint64_t first) const {
    for (uint64_t sample = first; sample < size(); ++sample) {
      const auto members = members_of(sample);
      fingerprint.add_text(key(sample));
      fingerprint.add_number(members.size());
      for (const Member& member : members) {
        fingerprint.add_text(fields_[member.extension].name);
        fingerprint.add_number(member.offset);
        fingerprint.add_number(member.size);
      }
    }
  }

  std::string_view key(uint64_t sample) const { return keys_.c_str() + key_starts_[sample]; }
  std::span<const Member> members_of(uint64_t sample) const {
    const uint64_t end = sample + 1 < first_members_.size() ? first_members_[sample + 1] : members_.size();
    return {members_.data() + first_members_[sample], end - first_members_[sample]};
  }
  std::string_view archive_name(size_t archive) const {
    return std::string_view(archives_.files[archive].name).substr(common_);
  }
  size_t archive_of(uint64_t sample) const {
    return static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin()) - 1;
  }

  const DataFiles archives_;
  const size_t common_;           // so much of each name is left out in samples' names
  std::vector<uint64_t> firsts_;  // the first sample of each archive (the next one's, where it has none)
  std::vector<Field> fields_;     // the extensions, sorted, then path
  std::string keys_;              // each ended by NUL
  std::vector<uint64_t> key_starts_, first_members_;
  std::vector<Member> members_;
  std::string fingerprint_;
  Remarks remarks_;
  ArchiveStreams streams_;
  Streaming streaming_;
  unsigned store_concurrency_;  // asked for with each sample
};

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string text;
  for (const std::string& one : texts) text.append(text.empty() ? "" : between).append(one);
  return text;
}

[[noreturn]] void refuse_without_sample(const std::vector<ArchiveIndex>& indexes, const std::string& path) {
  std::string why;
  for (const ArchiveIndex& index : indexes) {
    if (why.empty() && !index.remarks.all().first.empty()) why = " (" + index.remarks.all().first.front() + ")";
  }
  refuse_dataset(Trouble::kUsage,
                 "the " + std::to_string(indexes.size()) + " archives of " + path + " hold no sample" + why + ".");
}

}  // namespace

std::unique_ptr<Listing> open_webdataset(const SourceOpening& opening) {
  DataFiles archives = find_data_files(opening.uris, {}, opening.places, opening.stop);
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    return index_archive(view, file.name, base_name(file.name), done, opening.stop);
  };
  const auto keep = [](const ArchiveIndex& index) { return kept_bytes_of(index); };
  const auto take = [](std::string_view bytes, const DataFile& file) { return archive_index_in(bytes, file.bytes); };
  constexpr FileKind kArchives{.may_be_packed = true};
  std::vector<ArchiveIndex> indexes = index_files<ArchiveIndex>(
      archives, opening.indexing(kArchives, "webdataset", "bytes of archives"), {read, keep, take});
  const std::string origin = joined(opening.uris, ", ");
  if (std::all_of(indexes.begin(), indexes.end(), [](const ArchiveIndex& index) { return index.key_starts.empty(); }))
    refuse_without_sample(indexes, origin);
  return std::make_unique<WebDataset>(std::move(archives), std::move(indexes), origin, opening.access(kArchives));
}

}  // namespace spdld::source
