#include "daemon/source/files/data_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "config/text/remote_uri.h"
#include "daemon/base/result.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/files/file_view.h"
#include "daemon/source/files/remote_archives.h"
#include "daemon/source/kept/kept_records.h"
#include "daemon/source/listings.h"
#include "daemon/source/parts.h"
#include "daemon/store/object_view.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

UniqueFd open_data_file(const std::string& path, const Bounds* bounds, const FileKind& kind, struct stat& status) {
  UniqueFd fd(open_file(bounds, path.c_str()));
  const int error_number = fd && ::fstat(fd.get(), &status) == 0 ? 0 : errno;
  if (error_number != 0) refuse_archive(path, "opened", error_number, kind);
  if (!S_ISREG(status.st_mode)) refuse_not_archive(path, kind);
  return fd;
}

bool are_same(const std::vector<DataFile>& a, const std::vector<DataFile>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const DataFile& one, const DataFile& other) { return one.is_same(other); });
}

// A check asks the same stores in the same way.
DataFiles remote_files(const std::function<std::vector<DataFile>(const std::stop_token&)>& find,
                       const std::stop_token& stop) {
  DataFiles found;
  found.files = find(stop);
  found.is_unchanged = [find, before = found.files] { return are_same(find({}), before); };
  return found;
}

DataFiles local_files(std::vector<DataFile> files, Stamps stamps) {
  return {std::move(files), [stamps = std::move(stamps)] { return stamps.unchanged(); }};
}

// The state under which an object's index is kept: another content has another one.
KeptState remote_state(const store::Identity& identity) {
  return {static_cast<uint64_t>(identity.changed), identity.size, 0, 0};
}

// The result of indexing one file.
struct Indexed {
  std::string_view taken;  // its record, where it is as it was kept
  std::string record;      // else, if it is settled
};

class FileIndexer {
 public:
  FileIndexer(const Indexing& indexing, const IndexCalls& calls, const KeptRecords& kept, bool keeping)
      : indexing_(indexing), calls_(calls), kept_(kept), keeping_(keeping) {}

  Indexed index(size_t i, DataFile& file, std::atomic<uint64_t>& done) const {
    const int64_t now_ns = file_time_now_ns();  // before its state is asked for
    KeptState state = file.store ? remote_state(file.identity) : look_at(file);
    file.bytes = state.size;
    const bool tells_changes = !file.store || file.identity.changed != 0;
    if (const std::string_view taken = tells_changes ? kept_.find(file.name, state) : ""; !taken.empty()) {
      if (calls_.take(i, KeptRecords::parts_of(taken).index)) {
        done.fetch_add(state.size, std::memory_order_relaxed);
        return {taken, {}};
      }
    }
    const bool is_settled_now = file.store ? read_object(i, file, done) : read_local(i, file, state, now_ns, done);
    if (!keeping_ || !tells_changes || !is_settled_now) return {};
    return {{}, KeptRecords::record_of(file.name, state, calls_.keep(i))};
  }

 private:
  KeptState look_at(DataFile& file) const {
    const struct stat status = look_at_archive(file.name, indexing_.bounds, indexing_.kind);
    return note(file, status);
  }
  // The file's identity and size are of this status from here on.
  KeptState note(DataFile& file, const struct stat& status) const {
    const KeptState state = kept_state(status);
    file.bytes = state.size;
    file.identity = listed_identity(state, numbered_.are_on(status.st_dev, indexing_.bounds, file.name));
    return state;
  }
  bool read_object(size_t i, const DataFile& file, std::atomic<uint64_t>& done) const {
    store::ObjectView view(*file.store, file.object, file.identity, indexing_.stop, indexing_.kind.may_be_packed);
    calls_.read(i, view, done);
    return true;
  }
  bool read_local(size_t i, DataFile& file, KeptState& state, int64_t now_ns, std::atomic<uint64_t>& done) const {
    struct stat status;
    const UniqueFd fd = open_data_file(file.name, indexing_.bounds, indexing_.kind, status);
    const std::string what = "the " + std::string(indexing_.kind.noun) + ' ' + file.name;
    FileView view(fd.get(), what);
    state = note(file, status);
    try {
      calls_.read(i, view, done);
    } catch (const SetupError& e) {
      if (e.trouble() != Trouble::kStopping) check_same_state(fd.get(), state, what);  // it is the better reason
      throw;
    }
    check_same_state(fd.get(), state, what);
    return is_settled(state, now_ns);
  }

  const Indexing& indexing_;
  const IndexCalls& calls_;
  const KeptRecords& kept_;
  const bool keeping_;
  mutable NumberedFiles numbered_;
};

}  // namespace

Locator DataFile::at(uint64_t offset, uint64_t count) const {
  Locator locator;
  locator.path = store ? object : name;
  locator.offset = offset;
  locator.length = static_cast<int64_t>(count);
  locator.store = store.get();
  locator.identity = identity;
  return locator;
}

uint64_t DataFiles::bytes() const {
  uint64_t sum = 0;
  for (const DataFile& file : files) sum += file.bytes;
  return sum;
}

unsigned DataFiles::store_concurrency() const {
  unsigned most = 0;
  for (const DataFile& file : files)
    if (file.store) most = std::max(most, file.store->concurrency());
  return most;
}

std::vector<std::string> DataFiles::names() const {
  std::vector<std::string> all;
  for (const DataFile& file : files) all.push_back(file.name);
  return all;
}

DataFiles find_data_files(const std::vector<std::string>& uris, const FileKind& kind, const Places& places,
                          const std::stop_token& stop) {
  if (config::is_remote(uris.front()))
    return remote_files([uris, kind, stores = places.stores](
                            const std::stop_token& until) { return find_remote_archives(uris, *stores, until, kind); },
                        stop);
  FoundArchives found = find_archives(uris, stop, places.bounds.get(), kind);
  std::vector<DataFile> files;
  for (size_t i = 0; i < found.paths.size(); ++i) files.push_back({std::move(found.paths[i]), found.sizes[i]});
  return local_files(std::move(files), std::move(found.stamps));
}

DataFiles name_data_files(const std::vector<std::string>& names, const FileKind& kind, const Places& places,
                          const std::stop_token& stop) {
  if (!names.empty() && config::is_remote(names.front()))
    return remote_files([names, kind, stores = places.stores](
                            const std::stop_token& until) { return name_remote_files(names, *stores, until, kind); },
                        stop);
  std::vector<DataFile> files;
  Stamps stamps;
  for (const std::string& name : names) {
    check_stop(stop);
    const struct stat status = look_at_archive(name, places.bounds.get(), kind);
    stamps.add(name, status);
    files.push_back({name, static_cast<uint64_t>(status.st_size)});
  }
  return local_files(std::move(files), std::move(stamps));
}

void look_at_each(DataFiles& files, const FileKind& kind, const Bounds* bounds, const std::stop_token& stop) {
  NumberedFiles numbered;
  for (DataFile& file : files.files) {
    check_stop(stop);
    if (file.store) continue;
    const struct stat status = look_at_archive(file.name, bounds, kind);
    file.bytes = static_cast<uint64_t>(status.st_size);
    file.identity = listed_identity(kept_state(status), numbered.are_on(status.st_dev, bounds, file.name));
  }
}

void index_each(DataFiles& files, const Indexing& indexing, const IndexCalls& calls) {
  KeptFile kept_file(indexing.kept, indexing.key);
  const KeptRecords kept(kept_file.read());
  const FileIndexer indexer(indexing, calls, kept, kept_file.is_on());
  std::vector<Indexed> all(files.files.size());
  std::atomic<uint64_t> done{0};
  run_parts(
      all.size(), [&](uint64_t i) { all[i] = indexer.index(i, files.files[i], done); },
      {indexing.what, done, files.bytes()}, indexing.progress, indexing.stop);
  keep_indexed(kept_file, all, kept.size(), indexing.use);
}

Indexing SourceOpening::indexing(const FileKind& kind, std::string key, std::string_view what, KeptUse* part) const {
  for (const std::string& uri : uris) key.append(1, '\n').append(uri);
  return {kind, std::move(key), what, progress, stop, kept, part == nullptr ? use : *part, places.bounds.get()};
}

}  // namespace spdld::source
