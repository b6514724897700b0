// Local tar archives as a data set: the index of all of them as one listing.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/source/archive_index.h"
#include "daemon/source/archive_search.h"
#include "daemon/source/bounds.h"
#include "daemon/source/file_view.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/kept_archives.h"
#include "daemon/source/kept_file.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/source/remote_archives.h"
#include "daemon/source/stamps.h"
#include "daemon/source/trouble.h"
#include "daemon/store/object_view.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse_dataset(Trouble trouble, const std::string& message) { throw SetupError(trouble, message); }

UniqueFd open_archive(const std::string& path, const Bounds* bounds, struct stat& status) {
  UniqueFd fd(open_file(bounds, path.c_str()));
  const int error_number = fd && ::fstat(fd.get(), &status) == 0 ? 0 : errno;
  if (error_number != 0) refuse_archive(path, "opened", error_number);
  if (!S_ISREG(status.st_mode)) refuse_not_archive(path);
  return fd;
}

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

// Where the archives lie, and how to see whether they are the same later.
struct Archives {
  std::vector<std::string> paths;           // or their uris
  std::string origin;                       // for people
  Stamps stamps = {};                       // of local ones, and of their folder where they were found in one
  std::vector<RemoteArchive> remote = {};   // by path; empty: they are local
  std::function<bool()> is_unchanged = {};  // of remote ones
  ArchiveAccess access = {};
};

class WebDataset : public Listing {
 public:
  // Takes the archives' indexes one after the other, and lets go of each.
  WebDataset(Archives archives, std::vector<ArchiveIndex> indexes)
      : archives_(std::move(archives.paths)),
        remote_(std::move(archives.remote)),
        common_(common_folder(archives_)),
        stamps_(std::move(archives.stamps)),
        is_unchanged_(std::move(archives.is_unchanged)) {
    const std::vector<std::string> extensions = all_extensions(indexes, archives.origin);
    for (const std::string& extension : extensions) fields_.push_back({extension, FieldKind::kFetched});
    fields_.push_back({"path", FieldKind::kText});
    reserve(indexes);
    Fingerprint fingerprint;
    fingerprint.add_text("webdataset");
    for (size_t i = 0; i < archives_.size(); ++i) {
      ArchiveIndex index = std::move(indexes[i]);
      remarks_.add_all(index.remarks);
      const uint64_t first = key_starts_.size();
      firsts_.push_back(first);
      append(index, extensions);
      fingerprint.add_text(archive_name(i));
      fingerprint.add_number(index.key_starts.size());
      add_samples(fingerprint, first);
    }
    fingerprint_ = fingerprint.digits();
    make_streams(archives.access);
  }

  uint64_t size() const override { return key_starts_.size(); }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    for (const Member& member : members_of(sample)) {
      if (member.extension != field) continue;
      const size_t archive = archive_of(sample);
      Locator locator{archives_[archive], member.offset, static_cast<int64_t>(member.size), {}};
      if (store::Store* const stream = streams_.store_of(archive)) {
        locator.store = stream;
        locator.identity = remote_[archive].identity;
        return locator;
      }
      if (remote_.empty()) return locator;
      locator.path = remote_[archive].object;
      locator.store = remote_[archive].store.get();
      locator.identity = remote_[archive].identity;
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
  bool unchanged() const override { return is_unchanged_ ? is_unchanged_() : stamps_.unchanged(); }
  unsigned store_concurrency() const override { return store_concurrency_; }
  std::span<const uint64_t> archive_starts() const override { return firsts_; }
  const Streaming* streaming() const override { return streams_.any() ? &streaming_ : nullptr; }
  void expect(uint64_t sample, uint64_t place, uint64_t horizon) const override {
    const size_t archive = archive_of(sample);
    store::streams::BlockStore* const store = streams_.store_of(archive);
    const auto members = members_of(sample);
    if (store == nullptr || members.empty()) return;
    const uint64_t first = members.front().offset, end = members.back().offset + members.back().size;
    store->expect(archives_[archive], first, end - first, place, horizon);
  }

 private:
  void make_streams(const ArchiveAccess& access) {
    for (const RemoteArchive& archive : remote_)
      store_concurrency_ = std::max(store_concurrency_, archive.store->concurrency());
    if (!access.streams || remote_.empty()) return;
    std::vector<ArchiveStreams::Archive> all;
    for (size_t i = 0; i < archives_.size(); ++i) {
      all.push_back({archives_[i]});
      all.back().remote = &remote_[i];
      all.back().bytes = remote_[i].identity.size;
      all.back().useful = useful_bytes(i);
    }
    streams_.make(all, access);
    store_concurrency_ = std::max(store_concurrency_, streams_.concurrency());
    streaming_.bytes_max = access.stream_bytes_max;
    for (const Member& member : members_) streaming_.bytes += member.size;
  }

  // The bytes of an archive's members in each of its blocks.
  std::vector<uint32_t> useful_bytes(size_t archive) const {
    std::vector<uint32_t> useful;
    const uint64_t last = archive + 1 < firsts_.size() ? firsts_[archive + 1] : size();
    for (uint64_t sample = firsts_[archive]; sample < last; ++sample) {
      for (const Member& member : members_of(sample)) {
        for (uint64_t at = member.offset, end = at + member.size; at < end;) {
          const uint64_t number = at / store::streams::kBlockBytes;
          const uint64_t part = std::min((number + 1) * store::streams::kBlockBytes, end) - at;
          useful.resize(std::max<size_t>(useful.size(), number + 1));
          useful[number] += static_cast<uint32_t>(part);
          at += part;
        }
      }
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
  std::string_view archive_name(size_t archive) const { return std::string_view(archives_[archive]).substr(common_); }
  size_t archive_of(uint64_t sample) const {
    return static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), sample) - firsts_.begin()) - 1;
  }

  std::vector<std::string> archives_;  // paths, or uris
  std::vector<RemoteArchive> remote_;  // by archive; empty: all are local
  size_t common_;                      // so much of each is left out in names
  std::vector<uint64_t> firsts_;       // the first sample of each archive (the next one's, where it has none)
  std::vector<Field> fields_;          // the extensions, sorted, then path
  std::string keys_;                   // each ended by NUL
  std::vector<uint64_t> key_starts_, first_members_;
  std::vector<Member> members_;
  std::string fingerprint_;
  Remarks remarks_;
  Stamps stamps_;
  const std::function<bool()> is_unchanged_;
  ArchiveStreams streams_;
  Streaming streaming_;
  unsigned store_concurrency_ = 0;  // asked for with each sample
};

// ---- keeping

// The result of indexing one archive.
struct Indexed {
  ArchiveIndex index;
  std::string_view taken;  // its record, where it is as it was kept
  std::string record;      // else, if it is settled
};

Indexed index_one(const std::string& path, const KeptArchives& kept, bool keeping, std::atomic<uint64_t>& done,
                  const std::stop_token& stop, const Bounds* bounds) {
  const int64_t now_ns = file_time_now_ns();  // before its state is asked for
  KeptState state = kept_state(look_at_archive(path, bounds));
  Indexed indexed;
  indexed.taken = kept.find(path, state);
  if (!indexed.taken.empty()) {
    auto index = KeptArchives::index_of(indexed.taken);
    if (index) {
      indexed.index = std::move(*index);
      done.fetch_add(state.size, std::memory_order_relaxed);
      return indexed;
    }
    indexed.taken = {};
  }
  struct stat status;
  const UniqueFd fd = open_archive(path, bounds, status);
  FileView view(fd.get(), "the archive " + path);
  indexed.index = index_archive(view, path, base_name(path), done, stop);
  state = kept_state(status);
  if (keeping && is_settled(state, now_ns)) {
    indexed.record = KeptArchives::record_of(path, state, indexed.index);
  }
  return indexed;
}

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

// Indexes all archives by `index_each`, and keeps the indexes under `key`.
using IndexEach = std::function<Indexed(size_t, const KeptArchives&, bool keeping, std::atomic<uint64_t>& done)>;
std::unique_ptr<Listing> index_all(Archives archives, uint64_t bytes, const std::filesystem::path& kept_folder,
                                   const std::string& key, const IndexEach& index_each, const Progress& progress,
                                   const std::stop_token& stop, KeptUse& use) {
  const size_t count = archives.paths.size();
  std::atomic<uint64_t> done{0};
  std::vector<ArchiveIndex> indexes(count);
  {
    KeptFile kept_file(kept_folder, key);
    const KeptArchives kept(kept_file.read());
    std::vector<Indexed> all(count);
    run_parts(
        count, [&](uint64_t i) { all[i] = index_each(i, kept, kept_file.is_on(), done); },
        {"bytes of archives", done, bytes}, progress, stop);
    keep_indexed(kept_file, all, kept.size(), use);
    for (size_t i = 0; i < all.size(); ++i) indexes[i] = std::move(all[i].index);
  }
  if (std::all_of(indexes.begin(), indexes.end(), [](const ArchiveIndex& index) { return index.key_starts.empty(); })) {
    refuse_without_sample(indexes, archives.origin);
  }
  return std::make_unique<WebDataset>(std::move(archives), std::move(indexes));
}

// The state under which an archive's index is kept: another content has another one.
KeptState remote_state(const store::Identity& identity) {
  return {static_cast<uint64_t>(identity.changed), identity.size, 0, 0};
}

Indexed index_remote(const RemoteArchive& archive, const KeptArchives& kept, bool keeping, std::atomic<uint64_t>& done,
                     const std::stop_token& stop) {
  const KeptState state = remote_state(archive.identity);
  Indexed indexed;
  indexed.taken = archive.identity.changed == 0 ? std::string_view() : kept.find(archive.uri, state);
  if (!indexed.taken.empty()) {
    if (auto index = KeptArchives::index_of(indexed.taken)) {
      indexed.index = std::move(*index);
      done.fetch_add(state.size, std::memory_order_relaxed);
      return indexed;
    }
    indexed.taken = {};
  }
  store::ObjectView view(*archive.store, archive.object, archive.identity, stop);
  indexed.index = index_archive(view, archive.uri, base_name(archive.uri), done, stop);
  if (keeping && archive.identity.changed != 0)
    indexed.record = KeptArchives::record_of(archive.uri, state, indexed.index);
  return indexed;
}

bool are_same(const std::vector<RemoteArchive>& a, const std::vector<RemoteArchive>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RemoteArchive& one, const RemoteArchive& other) { return one.is_same(other); });
}

}  // namespace

std::unique_ptr<Listing> open_webdataset(const std::vector<std::string>& uris, const Progress& progress,
                                         const std::stop_token& stop, const std::filesystem::path& kept_folder,
                                         KeptUse& use, const Bounds* bounds) {
  FoundArchives found = find_archives(uris, stop, bounds);
  const std::vector<std::string> paths = found.paths;
  const IndexEach index_each = [&](size_t i, const KeptArchives& kept, bool keeping, std::atomic<uint64_t>& done) {
    return index_one(paths[i], kept, keeping, done, stop, bounds);
  };
  return index_all({std::move(found.paths), joined(uris, ", "), std::move(found.stamps)}, found.bytes, kept_folder,
                   "webdataset\n" + joined(uris, "\n"), index_each, progress, stop, use);
}

std::unique_ptr<Listing> open_remote_webdataset(const RemoteSource& source, const Progress& progress,
                                                const std::stop_token& stop, const std::filesystem::path& kept_folder,
                                                KeptUse& use) {
  const std::vector<RemoteArchive> found = find_remote_archives(source.uris, *source.shared_stores, stop);
  Archives archives{{}, joined(source.uris, ", "), {}, found, {}, source.access};
  uint64_t bytes = 0;
  for (const RemoteArchive& archive : found) archives.paths.push_back(archive.uri), bytes += archive.identity.size;
  // A check asks the same stores in the same way.
  archives.is_unchanged = [uris = source.uris, before = found, stores = source.shared_stores] {
    return are_same(find_remote_archives(uris, *stores, {}), before);
  };
  const IndexEach index_each = [&](size_t i, const KeptArchives& kept, bool keeping, std::atomic<uint64_t>& done) {
    return index_remote(found[i], kept, keeping, done, stop);
  };
  return index_all(std::move(archives), bytes, kept_folder, "webdataset\n" + joined(source.uris, "\n"), index_each,
                   progress, stop, use);
}

}  // namespace spdld::source
