#include "daemon/source/fetching/field_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "daemon/base/system/memory_reserve.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/trouble.h"
#include "daemon/store/packing.h"
#include "daemon/store/store.h"

namespace spdld::source {
namespace {

using Want = FieldFetch::Want;
using Way = FetchRoute::Way;

constexpr size_t kHolderBytesKept = 1 << 20;  // from one request to the next

Error bad(const std::string& message) { return {Trouble::kContent, message}; }

Error failed(const std::string& path, const char* doing, int error_number) {
  if (error_number == kLeadsOut) return bad(leads_out(path));
  return {content_trouble(error_number), path + " can't be " + doing + ": " + error_words(error_number) + "."};
}

bool is_known(const Identity& identity) { return identity != Identity(); }

}  // namespace

bool FieldReader::read(FetchRequest& request, Fetcher& fetcher) {
  read_fields(request);
  if (!has_no_room_) return true;
  for (ByteBuffer& bytes : request.bytes) bytes.shrink(0);
  request.route.shrink_holders(0);
  request.route.waits_for_room = request.route.first != nullptr ? request.route.first : &fetcher;
  request.budget->wait(request, wanted_bytes_);
  return false;
}

namespace {

// The bytes that the request has from remote stores by now.
uint64_t bytes_so_far(const FetchRequest& request) {
  uint64_t bytes = 0;
  for (const ByteBuffer& holder : request.route.holders) bytes += ByteBuffer::room_for(holder.size());
  for (size_t i = 0; i < request.fields.size() && i < request.bytes.size(); ++i)
    if (request.route.way_of(i) == Way::kPassOver) bytes += ByteBuffer::room_for(request.bytes[i].size());
  return bytes;
}

}  // namespace

void FieldReader::read_fields(FetchRequest& request) {
  request_ = &request;
  wanted_bytes_ = bytes_so_far(request);
  has_no_room_ = false;
  request.ok = true;
  request.error = {};
  // More buffers than fields, from an earlier request, are kept for a later one.
  request.bytes.resize(std::max(request.bytes.size(), request.fields.size()));  // once in a request's life
  for (size_t i = 0; i < request.fields.size() && request.ok; ++i) {
    Status status = Done{};
    try {
      const memory_reserve::Spared spared;
      status = read_field(request, i);
    } catch (const std::bad_alloc&) {
      status = Error{Trouble::kMemory, {}};  // a sentence would need memory
    }
    if (!status) {
      request.ok = false;
      request.error = std::move(status.error());
    }
  }
  if (fd_ && !has_no_room_) finish(request);
  fd_.reset();
  holder_length_ = -1;
  holder_.shrink(kHolderBytesKept);
}

bool FieldReader::read_at_hand(FetchRequest& request) {
  at_hand_ = true;
  read_fields(request);
  at_hand_ = false;
  return request.ok;
}

Status FieldReader::read_field(FetchRequest& request, size_t i) {
  FieldFetch& field = request.fields[i];
  ByteBuffer& bytes = request.bytes[i];
  const Way way = request.route.way_of(i);
  if (way == Way::kPassOver) return Done{};  // what is there and known of it stays
  bytes.resize(0);
  if (way == Way::kUnpack) return unpack_field(request, i, bytes);
  field.unchanged = field.copy_failed = field.is_whole = field.is_other = false;
  if (field.want == Want::kNothing) return Done{};
  if (way == Way::kCopyAlone) {
    field.copy_failed = !read_copy(field, bytes);
    // A copy that only is not in memory has not failed.
    return field.copy_failed && at_hand_ ? Status(bad("a copy is not at hand.")) : Status(Done{});
  }

  const Listing& listing = *request.listing;
  if (listing.has_rows() && listing.gather(request.sample, field.field, pieces_)) {
    bounds_ = listing.bounds();
    field.is_whole = true;
    return read_pieces(bytes);
  }
  const bool kept = field.kept_fd >= 0;
  if (kept && field.want == Want::kBytes && read_copy(field, bytes)) return Done{};
  Locator locator;
  const Status found = find(request, field.field, locator);
  if (!found) return found;
  if (locator.maker != nullptr) return read_kept(locator, field, bytes);
  bool copy_failed = kept && field.want == Want::kBytes;
  if (field.want == Want::kChanged && is_unchanged(locator, field.identity)) {
    field.unchanged = !kept || read_copy(field, bytes);
    if (field.unchanged) return Done{};
    copy_failed = true;
  }
  // A copy that only is not in memory has not failed.
  if (copy_failed && at_hand_) return bad("the copy of " + path_ + " is not at hand.");
  field.copy_failed = copy_failed;
  return read_file(locator, field, bytes);
}

// Of bytes that are made, the kept copy alone can be read.
Status FieldReader::read_kept(const Locator& locator, FieldFetch& field, ByteBuffer& bytes) {
  const bool is_same = field.want == Want::kChanged && field.identity == locator.identity;
  if (!is_same && field.kept_fd < 0) return bad("user code makes it, and it was not made here.");
  field.unchanged = is_same && (field.kept_fd < 0 || read_copy(field, bytes));
  field.copy_failed = field.kept_fd >= 0 && !field.unchanged;
  return Done{};
}

Status FieldReader::find(const FetchRequest& request, FieldId field, Locator& locator) {
  const Listing& listing = *request.listing;
  bounds_ = listing.bounds();
  locator = listing.locate(request.sample, field);
  if (locator.path.empty() && locator.maker == nullptr) {
    return bad("the sample " + listing.name(request.sample) + " has no \"" + listing.fields()[field].name + "\".");
  }
  // Remote bytes are asked for here only where the router had no memory to ask their store.
  if (locator.store != nullptr) return Error{Trouble::kMemory, {}};
  path_.assign(locator.folder).append(locator.path);
  return Done{};
}

// A file whose status can't be read counts as changed: opening it then says why.
bool FieldReader::is_unchanged(const Locator& locator, const Identity& identity) {
  const bool is_listed_one = is_known(locator.identity);
  if (is_listed_one && identity != locator.identity) return false;  // the copy is of another file than was listed
  const auto is_same = [&](const struct stat& status) {
    return is_listed_one ? is_listed(status, identity) : S_ISREG(status.st_mode) && identity_of(status) == identity;
  };
  struct stat status;
  if (!at_hand_) return stat_file(bounds_, path_.c_str(), status) == 0 && is_same(status);
  if (!open(locator) || ::fstat(fd_.get(), &status) != 0 || !is_same(status)) return false;
  if (is_listed_one || !has_status_) {
    status_ = status;
    has_status_ = is_checked_ = true;
  }
  return true;
}

Status FieldReader::open(const Locator& locator) {
  if (fd_ && open_path_ == path_) return Done{};
  if (fd_) {
    if (Status same = check_open(); !same) return same;
  }
  open_path_ = path_;
  holder_length_ = -1;
  listed_ = locator.identity;
  is_checked_ = has_status_ = false;
  fd_.reset(at_hand_ ? open_file_at_hand(bounds_, path_.c_str()) : open_file(bounds_, path_.c_str()));
  if (!fd_) return failed(path_, "opened", errno);
  return Done{};
}

Status FieldReader::look() {
  has_status_ = ::fstat(fd_.get(), &status_) == 0;
  return has_status_ ? Status(Done{}) : Status(failed(path_, "read", errno));
}

// Reads a small file with one call and looks at it once, behind the bytes: where its last change is long past, it has
// not changed meanwhile. None: it is larger, or has changed of late.
std::optional<size_t> FieldReader::read_small() {
  const int64_t now_ns = file_time_now_ns();
  const struct iovec piece { small_.data(), small_.size() };
  const ssize_t n = ::preadv2(fd_.get(), &piece, 1, 0, at_hand_ ? RWF_NOWAIT : 0);
  if (!look() || !S_ISREG(status_.st_mode) || n <= 0 || static_cast<size_t>(n) == small_.size()) return std::nullopt;
  is_checked_ = n == status_.st_size && is_settled(kept_state(status_), now_ns);
  return is_checked_ ? std::optional(static_cast<size_t>(n)) : std::nullopt;
}

// Whether all bytes that were read of the open file are of one version, which is the listed version where one is known.
Status FieldReader::check_open() {
  if (is_checked_) return Done{};
  struct stat now;
  if (::fstat(fd_.get(), &now) != 0) return failed(open_path_, "read", errno);
  if (is_known(listed_)) return is_listed(now, listed_) ? Status(Done{}) : Status(bad(changed_since(open_path_)));
  if (!has_status_ || kept_state(now) == kept_state(status_)) return Done{};
  return bad(open_path_ + " changed while it was read.");
}

// Where the last file has changed, that is the reason for whatever went wrong with its bytes.
void FieldReader::finish(FetchRequest& request) {
  if (!request.ok && request.error.trouble == Trouble::kMemory) return;
  Status same = Done{};
  try {
    const memory_reserve::Spared spared;
    same = check_open();
  } catch (const std::bad_alloc&) {
    same = Error{Trouble::kMemory, {}};  // a sentence would need memory
  }
  if (same || (!request.ok && same.error().trouble != Trouble::kContent)) return;
  request.ok = false;
  request.error = std::move(same.error());
}

// The part of the open file that the locator means, checked against the file as it was listed, or as it is now.
Result<FieldReader::FileRange> FieldReader::find_range(const Locator& locator, uint64_t bytes_max) const {
  const bool is_listed_one = is_known(listed_);
  if (!is_listed_one && !S_ISREG(status_.st_mode)) return bad(path_ + " is not a regular file.");
  const uint64_t file_size = is_listed_one ? listed_.size : static_cast<uint64_t>(status_.st_size);
  const bool whole = locator.length < 0;
  const uint64_t size = !whole                        ? static_cast<uint64_t>(locator.length)
                        : locator.offset <= file_size ? file_size - locator.offset
                                                      : 0;
  const auto place = [&] { return path_ + (whole ? "" : ", byte " + std::to_string(locator.offset) + ","); };
  // A file without a byte was never written. A member without a byte is an empty text, or a list without elements.
  if (size == 0 && whole) return bad(place() + " is empty.");
  if (size > bytes_max) {
    return bad(place() + " has " + std::to_string(size) + " bytes, more than the limit of " +
               std::to_string(bytes_max) + ".");
  }
  if (locator.object_bytes != 0 && locator.object_bytes != file_size) {
    return bad(path_ + " has " + std::to_string(file_size) + " bytes and had " + std::to_string(locator.object_bytes) +
               " when its rows were counted: was it replaced?");
  }
  if (locator.offset > file_size || size > file_size - locator.offset) {
    return bad(path_ + " is shorter than when it was listed: was it replaced?");
  }
  return FileRange{locator.offset, size};
}

Status FieldReader::read_file(const Locator& locator, FieldFetch& field, ByteBuffer& bytes) {
  if (const Status opened = open(locator); !opened) return opened;
  is_checked_ = false;
  const bool is_parted = field.want == Want::kParts;
  std::optional<size_t> small;
  if (!is_known(listed_) && !has_status_) {
    const bool is_whole = locator.length < 0 && locator.offset == 0 && locator.packing == nullptr;
    if (is_whole && !is_parted) small = read_small();
    if (!has_status_) {
      if (const Status looked = look(); !looked) return looked;
    }
  }
  const Identity identity = is_known(listed_) ? listed_ : identity_of(status_);
  if (is_parted && field.is_of_identity && identity != field.identity) {
    field.is_other = true;
    return Done{};
  }
  field.is_whole = is_parted;
  field.identity = identity;
  if (locator.packing != nullptr) return read_packed(locator, bytes);
  if (is_parted) return read_parts(locator, field, bytes);
  const Result<FileRange> in_file = find_range(locator, bytes_max_);
  if (!in_file) return in_file.error();
  if (small && has_room(*small)) std::memcpy(bytes.resize(*small), small_.data(), *small);
  const int64_t got =
      small ? static_cast<int64_t>(*small) : read_bytes(fd_.get(), in_file->offset, in_file->size, bytes);
  if (has_no_room_) return Error{Trouble::kMemory, {}};  // the request will wait
  if (got < 0) return failed(path_, "read", errno);
  if (static_cast<uint64_t>(got) < in_file->size) return bad(path_ + " became shorter while it was read.");
  return Done{};
}

Status FieldReader::read_parts(const Locator& locator, FieldFetch& field, ByteBuffer& bytes) {
  const Result<FileRange> in_file = find_range(locator, UINT64_MAX);
  if (!in_file) return in_file.error();
  const uint64_t wanted = field.settle_parts(in_file->size);
  if (wanted > bytes_max_)
    return bad(path_ + ": " + std::to_string(wanted) + " bytes of it are needed, more than the limit of " +
               std::to_string(bytes_max_) + ".");
  if (!has_room(wanted)) return Error{Trouble::kMemory, {}};  // the request will wait
  uint8_t* to = bytes.resize(wanted);
  for (const ByteRange& range : field.parts) {
    const int64_t got = read_to(fd_.get(), in_file->offset + range.offset, range.bytes, to);
    if (got < 0) return failed(path_, "read", errno);
    if (static_cast<uint64_t>(got) < range.bytes) return bad(path_ + " became shorter while it was read.");
    to += range.bytes;
  }
  return Done{};
}

Status FieldReader::read_packed(const Locator& locator, ByteBuffer& bytes) {
  if (const Status read = read_holder(locator); !read) return read;
  return unpack(locator, holder_.bytes(), path_, bytes);
}

Status FieldReader::unpack_field(const FetchRequest& request, size_t i, ByteBuffer& bytes) {
  const Locator locator = request.listing->locate(request.sample, request.fields[i].field);
  path_.assign(locator.folder).append(locator.path);
  return unpack(locator, request.route.holders[request.route.holder_of(i)].bytes(), locator.store->uri_of(path_),
                bytes);
}

Status FieldReader::unpack(const Locator& locator, std::span<const uint8_t> holder, const std::string& object,
                           ByteBuffer& bytes) {
  const auto refused = [&](const std::string& clause) {
    return bad(object + ", byte " + std::to_string(locator.offset) + ": " + clause + ".");
  };
  const Result<store::Packing::Piece> piece = locator.packing->find(holder, locator.packed);
  if (!piece) return refused(piece.error().message);
  if (piece->bytes_max > bytes_max_)
    return refused("its value has more bytes than the limit of " + std::to_string(bytes_max_));
  if (!has_room(piece->bytes_max)) return Error{Trouble::kMemory, {}};  // the request will wait
  const Result<uint64_t> size = locator.packing->unpack(*piece, bytes.resize(piece->bytes_max));
  if (!size) return refused(size.error().message);
  bytes.resize(*size);
  return Done{};
}

Status FieldReader::read_holder(const Locator& locator) {
  if (locator.length == holder_length_ && locator.offset == holder_offset_) return Done{};
  holder_length_ = -1;
  const Result<FileRange> in_file = find_range(locator, bytes_max_);
  if (!in_file) return in_file.error();
  const int64_t got = read_bytes(fd_.get(), in_file->offset, in_file->size, holder_);
  if (has_no_room_) return Error{Trouble::kMemory, {}};  // the request will wait
  if (got < 0) return failed(path_, "read", errno);
  if (static_cast<uint64_t>(got) < in_file->size) return bad(path_ + " became shorter while it was read.");
  holder_offset_ = locator.offset;
  holder_length_ = static_cast<int64_t>(in_file->size);
  return Done{};
}

Status FieldReader::read_pieces(ByteBuffer& bytes) {
  uint64_t size = 0;
  for (const Locator& piece : pieces_) size += static_cast<uint64_t>(piece.length) + (piece.followed_by >= 0 ? 1 : 0);
  if (size > bytes_max_)
    return bad("a row has " + std::to_string(size) + " bytes, more than the limit of " + std::to_string(bytes_max_) +
               ".");
  if (!has_room(size)) return Error{Trouble::kMemory, {}};  // the request will wait
  uint8_t* to = bytes.resize(size);
  for (const Locator& piece : pieces_) {
    if (piece.length > 0) {
      path_.assign(piece.folder).append(piece.path);
      if (const Status read = read_piece(piece, to); !read) return read;
      to += piece.length;
    }
    if (piece.followed_by >= 0) *to++ = static_cast<uint8_t>(piece.followed_by);
  }
  return Done{};
}

Status FieldReader::read_piece(const Locator& piece, uint8_t* to) {
  if (const Status opened = open(piece); !opened) return opened;
  is_checked_ = false;
  if (!is_known(listed_) && !has_status_) {
    if (const Status looked = look(); !looked) return looked;
  }
  const Result<FileRange> in_file = find_range(piece, bytes_max_);
  if (!in_file) return in_file.error();
  const int64_t got = read_to(fd_.get(), in_file->offset, in_file->size, to);
  if (got < 0) return failed(path_, "read", errno);
  if (static_cast<uint64_t>(got) < in_file->size) return bad(path_ + " became shorter while it was read.");
  return Done{};
}

bool FieldReader::read_copy(const FieldFetch& field, ByteBuffer& bytes) {
  if (field.kept_bytes == 0) return false;
  const int64_t got = read_bytes(field.kept_fd, field.kept_offset, field.kept_bytes, bytes);
  if (got >= 0 && static_cast<uint64_t>(got) == field.kept_bytes) return true;
  bytes.resize(0);
  return false;
}

bool FieldReader::has_room(uint64_t bytes) {
  if (!request_->budget) return true;
  if (has_no_room_) return false;
  wanted_bytes_ += ByteBuffer::room_for(bytes);
  has_no_room_ = !request_->budget->hold(*request_, wanted_bytes_);
  return !has_no_room_;
}

int64_t FieldReader::read_bytes(int fd, uint64_t offset, uint64_t count, ByteBuffer& bytes) {
  if (!has_room(count)) return -1;
  return read_to(fd, offset, count, bytes.resize(count));
}

int64_t FieldReader::read_to(int fd, uint64_t offset, uint64_t count, uint8_t* to) {
  uint64_t got = 0;
  while (got < count) {
    const auto at = static_cast<off_t>(offset + got);
    const struct iovec piece { to + got, count - got };
    const ssize_t n =
        at_hand_ ? ::preadv2(fd, &piece, 1, at, RWF_NOWAIT) : ::pread(fd, piece.iov_base, piece.iov_len, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<uint64_t>(n);
  }
  return static_cast<int64_t>(got);
}

}  // namespace spdld::source
