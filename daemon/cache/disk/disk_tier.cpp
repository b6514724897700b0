#include "daemon/cache/disk/disk_tier.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "daemon/cache/disk/files.h"

namespace spdld::cache {
namespace {

// Read indexes of shelves that nobody uses: a job that follows another finds them at once.
constexpr ptrdiff_t kUnusedIndexesMax = 2;

bool is_idle(const DiskShelf& shelf) { return shelf.holds == 0 && shelf.pending.load() == 0; }
bool is_unused(const std::unique_ptr<DiskShelf>& shelf) { return is_idle(*shelf) && shelf->exists(); }

bool is_shelf_name(std::string_view name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

}  // namespace

DiskTier::DiskTier(const std::filesystem::path& folder, uint64_t bytes_max)
    : folder_(folder), limit_(folder.empty() ? 0 : bytes_max) {
  if (limit_.max() == 0) return;
  const Status taken = take_folder();
  if (!taken) {
    trouble_ = taken.error().message + "; nothing is kept on disk.";
    shelves_.clear();
    return;
  }
  is_writable_ = true;
  writer_.emplace([this](DiskWrite& entry) { write(entry); });
}

Status DiskTier::take_folder() try {
  if (folder_.has_parent_path()) std::filesystem::create_directories(folder_.parent_path());
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return file_error(folder_, "made");
  struct stat status;
  if (::stat(folder_.c_str(), &status) != 0) return file_error(folder_, "looked at");
  if (!S_ISDIR(status.st_mode)) return Error{Trouble::kUsage, folder_.string() + " is no folder"};
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0) {
    return Error{Trouble::kDenied, "the cache's folder " + folder_.string() +
                                       " must be the daemon's own, and writable by nobody else (chmod 0700)"};
  }
  if (Status locked = lock_folder(); !locked) return locked;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) look_at(entry.path());
  keep_below_limit();
  return Done{};
} catch (const std::filesystem::filesystem_error& error) {
  return Error{Trouble::kTransient, "the cache's folder " + folder_.string() + ": " + error.code().message()};
}

Status DiskTier::lock_folder() {
  auto file = open_for_writing(folder_ / "lock");
  if (!file) return file.error();
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return file_error(folder_ / "lock", "locked");
    return Error{Trouble::kConflict, "another daemon uses the cache's folder " + folder_.string() +
                                         ": give this one another folder, or end that one"};
  }
  lock_ = std::move(*file);
  return Done{};
}

// Only what looks like a shelf's folder is touched.
void DiskTier::look_at(const std::filesystem::path& folder) {
  const bool is_gone = folder.extension() == ".gone";  // its removal was cut short
  if (!is_shelf_name(folder.stem().string()) || (folder.has_extension() && !is_gone)) return;
  const auto text = is_gone ? std::nullopt : read_text(folder / "shelf");
  const auto header = text ? read_header(*text) : std::nullopt;
  const bool has_files = is_file_or_missing(folder / "index") && is_file_or_missing(folder / "entries");
  if (!header || key_digits(header->key) != folder.filename() || !has_files) {
    DiskShelf::remove_folder(folder);
    return;
  }
  auto shelf = std::make_unique<DiskShelf>(folder, *header, limit_);
  shelf->adopt();
  last_time_ns_ = std::max(last_time_ns_, shelf->last_used_ns());
  shelves_.push_back(std::move(shelf));
}

// The limit may be lower than when the shelves were filled: those used last stay.
void DiskTier::keep_below_limit() {
  std::sort(shelves_.begin(), shelves_.end(),
            [](const auto& a, const auto& b) { return a->last_used_ns() > b->last_used_ns(); });
  std::erase_if(shelves_, [&](const auto& shelf) {
    if (limit_.take(shelf->footprint())) return false;
    DiskShelf::remove_folder(shelf->folder());
    return true;
  });
}

void DiskTier::stop() {
  if (writer_) writer_->stop();
}

void DiskTier::fail(const std::string& trouble) {
  is_writable_ = false;
  const std::lock_guard lock(mutex_);
  if (trouble_.empty()) trouble_ = trouble + "; the cache's folder is read only from here on.";
}

// Strictly later than any before, so that the order of disuse is one.
int64_t DiskTier::next_time_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return last_time_ns_ = std::max(now_ns, last_time_ns_ + 1);
}

DiskShelf* DiskTier::find(const ShelfKey& key) const {
  const auto at = std::find_if(shelves_.begin(), shelves_.end(), [&](auto& s) { return s->header().key == key; });
  return at == shelves_.end() ? nullptr : at->get();
}

DiskShelf* DiskTier::open(const ShelfKey& key, uint64_t samples) {
  if (!is_on()) return nullptr;
  DiskShelf* shelf = nullptr;
  {
    const std::lock_guard lock(mutex_);
    tidy();
    shelf = find(key);
    if (!shelf) {
      shelves_.push_back(std::make_unique<DiskShelf>(folder_ / key_digits(key), ShelfHeader{key, samples}, limit_));
      shelf = shelves_.back().get();
    }
    if (shelf->header().samples != samples) {  // the fingerprints agree, the sizes don't: it can't be trusted
      if (!is_idle(*shelf)) return nullptr;
      shelf->remove();
      shelf->set_samples(samples);
    }
    ++shelf->holds;
    shelf->set_last_used_ns(next_time_ns());
  }
  if (load(*shelf)) return shelf;
  const std::lock_guard lock(mutex_);
  --shelf->holds;
  return nullptr;
}

bool DiskTier::load(DiskShelf& shelf) {
  if (shelf.is_loaded()) return true;
  const auto damaged = shelf.load();
  if (damaged) {
    damaged_.fetch_add(*damaged, std::memory_order_relaxed);
    return true;
  }
  fail(damaged.error().message);
  return false;
}

void DiskTier::close(DiskShelf& shelf) {
  const std::lock_guard lock(mutex_);
  --shelf.holds;
  shelf.set_last_used_ns(next_time_ns());
}

// Forgets shelves that never came to be, and the indexes of those unused for longest.
void DiskTier::tidy() {
  std::erase_if(shelves_, [](const auto& shelf) { return is_idle(*shelf) && !shelf->exists(); });
  std::vector<DiskShelf*> read;
  for (const auto& shelf : shelves_) {
    if (is_idle(*shelf) && shelf->is_loaded()) read.push_back(shelf.get());
  }
  std::sort(read.begin(), read.end(), [](auto* a, auto* b) { return a->last_used_ns() > b->last_used_ns(); });
  for (size_t i = kUnusedIndexesMax; i < read.size(); ++i) read[i]->unload();
}

bool DiskTier::has_unused() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(shelves_.begin(), shelves_.end(), is_unused);
}

std::vector<std::unique_ptr<DiskShelf>>::iterator DiskTier::longest_unused() {
  auto best = shelves_.end();
  for (auto at = shelves_.begin(); at != shelves_.end(); ++at) {
    if (!is_unused(*at)) continue;
    if (best == shelves_.end() || (*at)->last_used_ns() < (*best)->last_used_ns()) best = at;
  }
  return best;
}

// Removing large files takes its time: the folder gets another name first, and others don't wait.
bool DiskTier::evict_one() {
  std::unique_ptr<DiskShelf> shelf;
  Status renamed = Done{};
  {
    const std::lock_guard lock(mutex_);
    const auto at = longest_unused();
    if (at == shelves_.end()) return false;
    renamed = (*at)->rename_away();
    if (renamed) {
      shelf = std::move(*at);
      shelves_.erase(at);
    }
  }
  if (!renamed) {
    fail(renamed.error().message);
    return false;
  }
  shelf->remove();
  evicted_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

uint64_t DiskTier::available_bytes() const {
  if (!is_writable()) return 0;
  const std::lock_guard lock(mutex_);
  uint64_t bytes = limit_.free();
  for (const auto& shelf : shelves_)
    if (shelf->holds == 0 && shelf->pending.load() == 0) bytes += shelf->footprint();
  return bytes - std::min(bytes, promised_.load());
}

bool DiskTier::has_room(const DiskShelf& shelf, uint64_t count) const {
  if (!is_writable() || count == 0 || count > DiskWriter::kQueueBytes) return false;
  const uint64_t need = shelf.need(count);
  return promised_.load() + need <= limit_.free() || (need <= limit_.max() && has_unused());
}

DiskTier::Put DiskTier::put(DiskShelf& shelf, DiskWrite entry, const uint8_t* bytes, uint64_t count) {
  if (!has_room(shelf, count)) return Put::kNoRoom;
  const uint64_t sample = entry.sample;
  if (!shelf.index().begin(sample)) return Put::kTaken;
  shelf.pending.fetch_add(1);
  promised_.fetch_add(kIndexRecordBytes + count);
  entry.shelf = &shelf;
  entry.count = count;
  if (writer_->put(std::move(entry), bytes)) return Put::kQueued;
  promised_.fetch_sub(kIndexRecordBytes + count);
  shelf.index().abandon(sample);
  shelf.pending.fetch_sub(1);
  return Put::kNotNow;
}

void DiskTier::write(DiskWrite& entry) {
  DiskShelf& shelf = *entry.shelf;
  const uint64_t need = shelf.need(entry.count);
  const auto may_go_on = [&] { return is_writable() && !writer_->is_late(); };
  bool is_taken = may_go_on() && limit_.take(need);
  while (!is_taken && may_go_on() && evict_one()) is_taken = limit_.take(need);
  promised_.fetch_sub(kIndexRecordBytes + entry.count);
  bool is_written = false;
  if (is_taken) {
    const std::span<const uint8_t> bytes(entry.bytes.get(), entry.count);
    const Status written = shelf.append({entry.sample, entry.identity, 0, 0, 0, entry.form}, bytes, entry.generation,
                                        [&] { return writer_->is_late(); });
    is_written = static_cast<bool>(written);
    if (!is_written && written.error().trouble == Trouble::kTransient) fail(written.error().message);
  }
  if (!is_written) shelf.index().abandon(entry.sample);
  shelf.pending.fetch_sub(1);  // from here on the shelf may go
}

std::string DiskTier::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void DiskTier::fill(Report& report) const {
  const std::lock_guard lock(mutex_);
  report.folder = folder_.string();
  report.disk_trouble = trouble_;
  report.disk_bytes = limit_.used();
  report.disk_bytes_max = limit_.max();
  report.damaged = damaged_.load(std::memory_order_relaxed);
  report.evicted += evicted_.load(std::memory_order_relaxed);
  for (const auto& shelf : shelves_) {
    const auto same = std::find_if(report.shelves.begin(), report.shelves.end(),
                                   [&](const ShelfReport& s) { return s.key == shelf->header().key; });
    ShelfReport& to = same == report.shelves.end() ? report.shelves.emplace_back() : *same;
    to.key = shelf->header().key;
    to.samples = shelf->header().samples;
    to.disk_entries = shelf->entries();
    to.disk_bytes = shelf->entry_bytes();
  }
}

}  // namespace spdld::cache
