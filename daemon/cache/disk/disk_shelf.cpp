#include "daemon/cache/disk/disk_shelf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "daemon/cache/disk/files.h"

namespace spdld::cache {
namespace {

constexpr int64_t kNs = 1'000'000'000;

uint64_t footprint_of(uint64_t index_bytes, uint64_t entries_bytes) {
  return DiskShelf::kOverheadBytes + entries_bytes + std::max(index_bytes, kIndexHeaderBytes) - kIndexHeaderBytes;
}

}  // namespace

DiskShelf::DiskShelf(std::filesystem::path folder, ShelfHeader header, Limit& limit)
    : folder_(std::move(folder)), header_(std::move(header)), limit_(limit) {}

void DiskShelf::adopt() {
  struct stat status;
  if (::lstat(header_path().c_str(), &status) == 0)
    last_used_ns_ = status.st_mtim.tv_sec * kNs + status.st_mtim.tv_nsec;
  index_end_ = size_of(index_path());
  entries_end_ = size_of(entries_path());
  footprint_ = footprint_of(index_end_, entries_end_);
  unread_entries_ = (std::max(index_end_, kIndexHeaderBytes) - kIndexHeaderBytes) / kIndexRecordBytes;
  unread_bytes_ = entries_end_;
  exists_ = true;
}

void DiskShelf::set_last_used_ns(int64_t time_ns) {
  last_used_ns_ = time_ns;
  if (exists()) stamp();
}

void DiskShelf::stamp() const {
  int64_t time_ns = 0;
  do {  // again where it was used meanwhile, on another thread
    time_ns = last_used_ns_;
    const timespec time{static_cast<time_t>(time_ns / kNs), static_cast<long>(time_ns % kNs)};
    const std::array<timespec, 2> times{time, time};
    // A failure costs nothing but the shelf's rank in the order of disuse.
    (void)::utimensat(AT_FDCWD, header_path().c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  } while (time_ns != last_used_ns_);
}

Status DiskShelf::open_files() {
  auto index = open_for_writing(index_path());
  if (!index) return index.error();
  auto entries = open_for_writing(entries_path());
  if (!entries) return entries.error();
  index_file_ = std::move(*index);
  entries_file_ = std::move(*entries);
  return Done{};
}

Result<uint64_t> DiskShelf::load() {
  auto index = std::make_unique<DiskIndex>(header_.samples);
  uint64_t damaged = 0;
  if (exists()) {
    if (Status opened = open_files(); !opened) return opened.error();
    entries_end_ = size_of(entries_path());
    uint64_t end = 0;
    const auto read = read_index(index_file_.get(), key_digits(header_.key), [&](const IndexRecord& record) {
      if (!index->load(record, entries_end_)) return false;
      end = std::max(end, record.offset + record.bytes);
      return true;
    });
    if (!read) return Error{read.error().trouble, folder_.string() + ": " + read.error().message};
    damaged = read->damaged;
    if (read->sound_bytes == 0) damaged = unread_entries_;  // all of them
    if (Status cut = cut_to(std::max(read->sound_bytes, kIndexHeaderBytes), end); !cut) return cut.error();
  }
  index_ = std::move(index);
  counted_.store(index_.get(), std::memory_order_release);
  return damaged;
}

// Cuts off the bytes that a crash has left behind the last sound record, and behind the last entry of such a record.
Status DiskShelf::cut_to(uint64_t index_bytes, uint64_t entries_bytes) {
  if (index_bytes == kIndexHeaderBytes) {
    const auto header = index_header(key_digits(header_.key));
    if (Status wrote = write_fully(index_file_.get(), index_path(), header, 0); !wrote) return wrote;
  }
  if (::ftruncate(index_file_.get(), static_cast<off_t>(index_bytes)) != 0) return file_error(index_path(), "cut off");
  if (::ftruncate(entries_file_.get(), static_cast<off_t>(entries_bytes)) != 0)
    return file_error(entries_path(), "cut off");
  index_end_ = index_bytes;
  entries_end_ = entries_bytes;
  rest_bytes_ = 0;
  const uint64_t before = footprint(), now = footprint_of(index_end_, entries_end_);
  if (now > before && !limit_.take(now - before)) {
    return Error{Trouble::kLimit, folder_.string() + " has grown behind the daemon's back"};
  }
  if (now < before) limit_.give(before - now);
  footprint_ = now;
  return Done{};
}

void DiskShelf::unload() {
  if (!index_) return;
  unread_entries_ = index_->entries();
  unread_bytes_ = index_->entry_bytes();
  counted_.store(nullptr, std::memory_order_release);
  index_.reset();
  index_file_.reset();
  entries_file_.reset();
}

void DiskShelf::remove() {
  unload();
  if (exists()) remove_folder(folder_);
  exists_ = false;
  limit_.give(footprint_.exchange(0));
  unread_entries_ = 0;
  unread_bytes_ = 0;
  index_end_ = 0;
  entries_end_ = 0;
  rest_bytes_ = 0;
}

Status DiskShelf::rename_away() {
  std::filesystem::path gone = folder_;
  gone += ".gone";
  if (std::rename(folder_.c_str(), gone.c_str()) != 0) return file_error(folder_, "renamed");
  folder_ = gone;
  return Done{};
}

void DiskShelf::remove_folder(const std::filesystem::path& folder) {
  for (const char* name : {"shelf", "index", "entries"}) ::unlink((folder / name).c_str());
  ::rmdir(folder.c_str());
}

Status DiskShelf::create() {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return file_error(folder_, "made");
  if (Status opened = open_files(); !opened) return opened;
  const auto beginning = index_header(key_digits(header_.key));
  if (Status wrote = write_fully(index_file_.get(), index_path(), beginning, 0); !wrote) return wrote;
  // Last: a folder without it is none.
  const auto file = open_for_writing(header_path());
  if (!file) return file.error();
  const std::string text = header_text(header_);
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (Status wrote = write_fully(file->get(), header_path(), bytes, 0); !wrote) return wrote;
  index_end_ = kIndexHeaderBytes;
  entries_end_ = 0;
  footprint_ = kOverheadBytes;
  exists_.store(true);
  stamp();
  return Done{};
}

// Cuts off what a failed append has left, and gives it back.
Status DiskShelf::cut_off_rest() {
  if (rest_bytes_ == 0) return Done{};
  if (::ftruncate(index_file_.get(), static_cast<off_t>(index_end_)) != 0) return file_error(index_path(), "cut off");
  if (::ftruncate(entries_file_.get(), static_cast<off_t>(entries_end_)) != 0)
    return file_error(entries_path(), "cut off");
  footprint_ -= rest_bytes_;
  limit_.give(rest_bytes_);
  rest_bytes_ = 0;
  return Done{};
}

Status DiskShelf::append(IndexRecord record, std::span<const uint8_t> bytes, uint32_t generation,
                         const std::function<bool()>& is_late) {
  const uint64_t taken = need(bytes.size());
  if (!exists()) {
    if (Status created = create(); !created) {
      remove_folder(folder_);
      limit_.give(taken);
      return created;
    }
  }
  if (Status cut = cut_off_rest(); !cut) {
    limit_.give(taken);
    return cut;
  }
  record.offset = entries_end_;
  record.bytes = bytes.size();
  record.checksum = checksum_of(bytes);
  Status wrote = write(record, bytes, is_late);
  if (wrote && !index_->publish(record, generation)) {
    wrote = Error{Trouble::kLimit, folder_.string() + ": its index is full until it is read again."};
  }
  if (!wrote) {
    rest_bytes_ = kIndexRecordBytes + bytes.size();
    footprint_ += rest_bytes_;
    (void)cut_off_rest();  // else the next append, or the shelf's end
    return wrote;
  }
  index_end_ += kIndexRecordBytes;
  entries_end_ += bytes.size();
  footprint_ = footprint_of(index_end_, entries_end_);
  return Done{};
}

Status DiskShelf::write(const IndexRecord& record, std::span<const uint8_t> bytes,
                        const std::function<bool()>& is_late) {
  constexpr size_t kPieceBytes = 4u << 20;
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    if (is_late()) return Error{Trouble::kStopping, folder_.string() + ": the daemon ends."};
    const auto piece = bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
    if (Status wrote = write_fully(entries_file_.get(), entries_path(), piece, record.offset + at); !wrote)
      return wrote;
  }
  return write_fully(index_file_.get(), index_path(), index_record(record), index_end_);
}

}  // namespace spdld::cache
