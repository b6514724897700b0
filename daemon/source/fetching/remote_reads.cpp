#include "daemon/source/fetching/remote_reads.h"

#include <algorithm>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

namespace spdld::source {
namespace {

using store::Locator;
using store::Read;
using Want = FieldFetch::Want;
using Way = FetchRoute::Way;

// Ranges that lie so close together are read as one, with the bytes between them.
constexpr uint64_t kGapMax = 16 << 10;

bool is_same_object(const Locator& a, const Locator& b) {
  return a.store == b.store && a.path == b.path && a.folder == b.folder;
}

}  // namespace

bool RemoteReads::sort_out() {
  const Listing& listing = *request_.listing;
  bool is_local = false;
  request_.route.begin(request_.fields.size());
  for (size_t i = 0; i < request_.fields.size(); ++i) {
    FieldFetch& field = request_.fields[i];
    field.unchanged = field.copy_failed = field.is_whole = field.is_other = false;
    if (field.want == Want::kNothing) continue;
    const bool is_gathered = listing.has_rows() && listing.gather(request_.sample, field.field, pieces_);
    const Locator locator = is_gathered ? pieces_.front() : listing.locate(request_.sample, field.field);
    if (locator.store == nullptr) {
      is_local = true;
      continue;
    }
    request_.route.set_way(i, Way::kPassOver);
    // The listing tells a remote object's identity, so that nothing is asked for it again.
    const bool is_same = locator.identity.size != 0 && locator.identity == field.identity;
    field.is_other = field.want == Want::kParts && field.is_of_identity && locator.identity.size != 0 && !is_same;
    if (field.want == Want::kParts) continue;
    if (field.want == Want::kChanged && !is_same) continue;
    if (field.kept_fd >= 0) {
      request_.route.set_way(i, Way::kCopyAlone);
      is_local = true;
    } else
      field.unchanged = field.want == Want::kChanged;
  }
  return is_local;
}

bool RemoteReads::plan() {
  wishes_.clear();
  marks_.clear();
  holders_.clear();
  used_ = 0;
  sizes_.assign(request_.fields.size(), 0);
  has_no_room_ = false;
  status_ = Done{};
  duration_ns_ = bytes_ = shared_count_ = 0;
  for (size_t i = 0; i < request_.fields.size(); ++i) {
    FieldFetch& field = request_.fields[i];
    const Way way = request_.route.way_of(i);
    if (way == Way::kAll || field.want == Want::kNothing || field.unchanged || field.is_other) continue;
    if (way == Way::kCopyAlone && !field.copy_failed) {
      field.unchanged = field.want == Want::kChanged;
      continue;
    }
    wish_field(i);
  }
  // The request may hold more bytes, for it may have waited for bytes whose size is not known here.
  bytes_wanted_ = 0;
  for (size_t i = 0; i < sizes_.size(); ++i)
    bytes_wanted_ += ByteBuffer::room_for(std::max<uint64_t>(sizes_[i], request_.bytes[i].size()));
  for (const Holder& holder : holders_)
    bytes_wanted_ += ByteBuffer::room_for(static_cast<uint64_t>(holder.locator.length));
  return !wishes_.empty();
}

namespace {

// The bytes that a locator means; none: they are known once they have been read.
std::optional<uint64_t> bytes_of(const Locator& locator) {
  if (locator.is_value) return std::nullopt;
  if (locator.length >= 0) return static_cast<uint64_t>(locator.length);
  if (locator.identity.size > locator.offset) return locator.identity.size - locator.offset;
  return std::nullopt;
}

}  // namespace

void RemoteReads::wish_field(size_t i) {
  FieldFetch& field = request_.fields[i];
  const FieldId id = field.field;
  const Listing& listing = *request_.listing;
  field.is_whole = true;
  if (!listing.has_rows() || !listing.gather(request_.sample, id, pieces_)) {
    const Locator locator = listing.locate(request_.sample, id);
    if (locator.packing != nullptr) return wish_holder(i, locator);
    const std::optional<uint64_t> bytes = bytes_of(locator);
    // A store that reads ahead has the whole in memory.
    const bool is_parted = field.want == Want::kParts && bytes && *bytes > 0 && !listing.is_at_hand();
    return is_parted ? wish_parts(i, locator, *bytes) : wish(i, locator, 0);
  }
  uint64_t at = 0;
  for (const Locator& piece : pieces_) {
    if (piece.length > 0) wish(i, piece, at);
    at += static_cast<uint64_t>(piece.length);
    if (piece.followed_by >= 0) marks_.push_back({i, at++, static_cast<uint8_t>(piece.followed_by)});
  }
  sizes_[i] = at;
}

void RemoteReads::wish_parts(size_t i, const Locator& locator, uint64_t content_bytes) {
  FieldFetch& field = request_.fields[i];
  field.settle_parts(content_bytes);
  uint64_t at = 0;
  for (const ByteRange& range : field.parts) {
    Locator part = locator;
    part.offset += range.offset;
    part.length = static_cast<int64_t>(range.bytes);
    wish(i, part, at);
    at += range.bytes;
  }
}

void RemoteReads::wish(size_t i, const Locator& locator, uint64_t at) {
  const uint64_t bytes = bytes_of(locator).value_or(Read::kToEnd);
  if (bytes == 0) {  // a member without a byte is an empty text
    request_.fields[i].identity = locator.identity;
    return;
  }
  wishes_.push_back({locator, i, at, bytes});
  if (bytes != Read::kToEnd) sizes_[i] = std::max(sizes_[i], at + bytes);
}

// The fields of a row mostly lie in one holder, which is read once.
void RemoteReads::wish_holder(size_t i, const Locator& locator) {
  size_t number = 0;
  while (number < holders_.size() &&
         !(is_same_object(holders_[number].locator, locator) && holders_[number].locator.offset == locator.offset))
    ++number;
  request_.route.set_holder(i, number);
  request_.fields[i].identity = locator.identity;
  if (number < holders_.size()) return holders_[number].fields.push_back(i);
  holders_.push_back({locator, {i}});
  request_.route.holders.resize(std::max(request_.route.holders.size(), holders_.size()));
  if (locator.length > 0) wishes_.push_back({locator, i, 0, static_cast<uint64_t>(locator.length), true});
}

uint8_t* RemoteReads::memory_of(const Wish& wish) {
  return wish.is_holder ? request_.route.holders[request_.route.holder_of(wish.field)].data()
                        : request_.bytes[wish.field].data() + wish.at;
}

bool RemoteReads::leaves_packed() {
  if (holders_.empty()) return false;
  request_.route.set_all(Way::kPassOver);
  for (const Holder& holder : holders_)
    for (const size_t i : holder.fields) request_.route.set_way(i, Way::kUnpack);
  return true;
}

Status RemoteReads::check(const Wish& wish) const {
  const uint64_t size = wish.locator.identity.size;
  const auto bad = [&](const std::string& why) {
    std::string object(wish.locator.folder);
    object.append(wish.locator.path);
    return Error{Trouble::kContent, wish.locator.store->uri_of(object) + why};
  };
  const uint64_t bytes = wish.is_holder ? wish.bytes : sizes_[wish.field];
  if (bytes > bytes_max_)
    return bad(" has " + std::to_string(bytes) + " bytes, more than the limit of " + std::to_string(bytes_max_) + ".");
  const bool is_outside = wish.bytes != Read::kToEnd && size != 0 &&
                          (wish.locator.offset > size || wish.bytes > size - wish.locator.offset);
  const bool is_other = wish.locator.object_bytes != 0 && size != 0 && wish.locator.object_bytes != size;
  if (is_outside || is_other) return bad(" is another one than when it was listed: was it replaced?");
  return Done{};
}

// Makes room for the bytes, and the reads.
Status RemoteReads::prepare() {
  for (const Wish& wish : wishes_)
    if (Status fits = check(wish); !fits) return fits;
  for (size_t i = 0; i < sizes_.size(); ++i)
    if (sizes_[i] != 0) request_.bytes[i].resize(sizes_[i]);
  for (size_t i = 0; i < holders_.size(); ++i)
    request_.route.holders[i].resize(static_cast<size_t>(holders_[i].locator.length));
  for (const Mark& mark : marks_) request_.bytes[mark.field].data()[mark.at] = mark.byte;
  make_reads();
  return Done{};
}

bool RemoteReads::read_at_hand() {
  if (!holders_.empty()) return false;  // no store that packs values has them in memory
  if (request_.budget != nullptr && !request_.budget->hold(request_, bytes_wanted_)) return false;
  if (!prepare()) return false;
  for (size_t i = 0; i < used_; ++i) {
    if (!reads_[i]->store->read_at_hand(*reads_[i])) return false;
    note(*reads_[i]);
  }
  return true;
}

Result<bool> RemoteReads::start() {
  if (Status prepared = prepare(); !prepared) return std::move(prepared.error());
  left_ = used_ + 1;  // with this function's own part, so that nothing is told before all are asked
  for (size_t i = 0; i < used_; ++i) ask(*reads_[i]);
  const std::scoped_lock lock(mutex_);
  return --left_ == 0;
}

// Whether it has ended already, and was the last one.
bool RemoteReads::ask(OneRead& read) {
  auto role = SharedReads::Role::kReads;
  read.is_follower = !read.key.empty();
  try {
    if (read.is_follower) role = shared_.begin(read.key, read);
  } catch (const std::bad_alloc&) {
    read.key.clear();  // it is read without others
  }
  if (role == SharedReads::Role::kWaits) return false;  // it may have ended by now
  if (role == SharedReads::Role::kEnded) return note_end(read);
  read.is_follower = false;
  read.store->read(read);
  return false;
}

void RemoteReads::end_loan() {
  for (size_t i = 0; i < used_; ++i)
    if (std::exchange(reads_[i]->lends, false)) shared_.end_loan(reads_[i]->key);
}

RemoteReads::OneRead& RemoteReads::next_read(const Wish& wish) {
  if (used_ == reads_.size()) reads_.push_back(std::make_unique<OneRead>());
  OneRead& read = *reads_[used_++];
  read.owner = request_.owner;
  read.observer = this;
  read.is_unwanted = request_.is_unwanted;
  read.status = Done{};
  read.attempts = 0;
  read.object.assign(wish.locator.folder).append(wish.locator.path);
  read.offset = wish.locator.offset;
  read.bytes = wish.bytes;
  read.pieces.clear();
  read.room = nullptr;
  read.bytes_max = bytes_max_;
  read.identity = wish.locator.identity;
  if (read.identity.size == 0) read.identity.size = wish.locator.object_bytes;
  read.store = wish.locator.store;
  read.fields.clear();
  add_fields(wish, read);
  read.room_bytes = 0;
  read.key.clear();
  read.is_follower = false;
  return read;
}

void RemoteReads::add_fields(const Wish& wish, OneRead& read) const {
  if (!wish.is_holder) return read.fields.push_back(wish.field);
  const auto& fields = holders_[request_.route.holder_of(wish.field)].fields;
  read.fields.insert(read.fields.end(), fields.begin(), fields.end());
}

void RemoteReads::make_reads() {
  std::sort(wishes_.begin(), wishes_.end(), [](const Wish& a, const Wish& b) {
    return std::tie(a.locator.store, a.locator.folder, a.locator.path, a.locator.offset) <
           std::tie(b.locator.store, b.locator.folder, b.locator.path, b.locator.offset);
  });
  OneRead* open = nullptr;
  const Wish* before = nullptr;
  for (const Wish& wish : wishes_) {
    if (wish.bytes == Read::kToEnd) {
      next_read(wish).room = this;
      open = nullptr;
      continue;
    }
    const uint64_t offset = wish.locator.offset;
    const bool goes_on = open != nullptr && is_same_object(before->locator, wish.locator) &&
                         offset >= open->offset + open->bytes && offset - (open->offset + open->bytes) <= kGapMax;
    if (goes_on)
      add_fields(wish, *open);
    else
      open = &next_read(wish);
    open->bytes = offset + wish.bytes - open->offset;
    open->pieces.push_back({offset, wish.bytes, memory_of(wish)});
    before = &wish;
  }
  for (size_t i = 0; i < used_; ++i) {
    OneRead& read = *reads_[i];
    if (read.pieces.empty()) continue;
    read.key = SharedReads::key_of(*read.store, read);
    // Of a whole object no range is asked for.
    if (read.offset == 0 && read.bytes == read.identity.size && read.bytes != 0) read.bytes = Read::kToEnd;
  }
}

uint8_t* RemoteReads::room_for(Read& read, uint64_t bytes) {
  auto& one = static_cast<OneRead&>(read);
  if (request_.budget != nullptr) {
    const std::scoped_lock lock(mutex_);
    bytes_wanted_ += ByteBuffer::room_for(bytes) - ByteBuffer::room_for(one.room_bytes);
    one.room_bytes = bytes;
    has_no_room_ = has_no_room_ || !request_.budget->hold(request_, bytes_wanted_);
    if (has_no_room_) return nullptr;
  }
  return request_.bytes[one.fields.front()].resize(bytes);
}

bool RemoteReads::borrow(store::Read& read, std::span<const uint8_t> bytes, std::shared_ptr<const void> keeper) {
  const size_t field = static_cast<const OneRead&>(read).fields.front();
  if (request_.borrowed.size() <= field) request_.borrowed.resize(request_.fields.size());  // once in a request's life
  request_.borrowed[field] = {bytes, std::move(keeper)};
  return true;
}

// Of a read that brought its bytes.
void RemoteReads::note(OneRead& read) {
  for (const Read::Piece& piece : read.pieces) bytes_ += piece.bytes;
  for (const size_t field : read.fields) request_.fields[field].identity = read.identity;
}

void RemoteReads::on_done(store::Request& request) {
  auto& read = static_cast<OneRead&>(request);
  if (!read.key.empty() && !read.is_follower) {
    read.lends = request_.lends_bytes;
    // Where nobody wants the bytes any more for which others wait, one of these reads them for all.
    const bool was_stopped = !read.status && read.status.error().trouble == Trouble::kStopping;
    for (Read* const waiting : shared_.end(read.key, read, read.lends)) {
      auto& other = static_cast<OneRead&>(*waiting);
      auto& reads = static_cast<RemoteReads&>(*other.observer);
      if (!was_stopped)
        other.store->read(other);
      else if (reads.ask(other))
        reads.owner_.on_read(reads);
    }
  }
  if (note_end(read)) owner_.on_read(*this);
}

// Whether it was the last one.
bool RemoteReads::note_end(OneRead& read) {
  if (read.status && read.pieces.size() == 1 && read.pieces.front().bytes == 0 && read.room != nullptr)
    read.status = Error{Trouble::kContent, read.store->uri_of(read.object) + " is empty."};
  const std::scoped_lock lock(mutex_);
  if (!read.status && status_) status_ = std::move(read.status);
  duration_ns_ = std::max(duration_ns_, read.duration_ns);
  shared_count_ += read.is_follower && read.attempts == 0;
  if (read.status) note(read);
  return --left_ == 0;
}

}  // namespace spdld::source
