#include "daemon/rows/record_measurer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "daemon/base/random.h"
#include "daemon/media/measure.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/files/file_view.h"
#include "daemon/source/trouble.h"
#include "daemon/store/object_view.h"
#include "daemon/store/packing.h"
#include "daemon/store/waiting.h"

namespace spdld::rows {
namespace {

constexpr uint64_t kHeadBytes = 64 << 10;       // most headers are smaller
constexpr uint64_t kContentBytesMax = 1 << 30;  // as a fetcher's largest field
constexpr size_t kKeptBytesMax = 1 << 20;

uint64_t stamp_of(const source::KeptState& state) {
  uint64_t hash = mix_bits(state.inode);
  for (const uint64_t part :
       {state.size, static_cast<uint64_t>(state.changed_ns), static_cast<uint64_t>(state.status_changed_ns)})
    hash = mix_bits(hash ^ part);
  return std::max<uint64_t>(hash, 1);
}

}  // namespace

uint64_t RecordMeasurer::stamp(uint64_t record) {
  const store::Locator locator = listing_.locate(record, field_);
  if (locator.path.empty()) return 0;
  if (locator.store != nullptr) {
    const uint64_t hash = mix_bits(locator.identity.size ^ mix_bits(static_cast<uint64_t>(locator.identity.changed)));
    return locator.identity.changed == 0 ? 0 : std::max<uint64_t>(hash, 1);
  }
  path_.assign(locator.folder).append(locator.path);
  if (path_ == stamped_path_) return stamp_;
  stamped_path_ = path_;
  struct stat status;
  stamp_ = 0;
  if (source::stat_file(listing_.bounds(), path_.c_str(), status) != 0) return 0;
  const source::KeptState state = source::kept_state(status);
  if (source::is_settled(state, source::file_time_now_ns())) stamp_ = stamp_of(state);
  return stamp_;
}

Result<uint64_t> RecordMeasurer::length(uint64_t record) {
  const store::Locator locator = listing_.locate(record, field_);
  if (locator.path.empty()) {
    return Error{Trouble::kNotFound,
                 "the sample " + listing_.name(record) + " has no \"" + listing_.fields()[field_].name + "\"."};
  }
  path_.assign(locator.folder).append(locator.path);
  if (locator.packing == nullptr && measure_ == Measure::kBytes) return bytes_of(locator);
  Result<uint64_t> length = locator.packing != nullptr ? packed_length(locator) : measured_of(locator);
  if (locator.store != nullptr) return length;
  if (const Status same = check_open(); !same) return same.error();
  return length;
}

// Whether all bytes that were read of the local file are of the version that was listed and stamped.
Status RecordMeasurer::check_open() const {
  struct stat now;
  if (!fd_ || ::fstat(fd_.get(), &now) != 0) return Done{};  // the reading says what is wrong
  const bool is_stamped = stamp_ != 0 && stamped_path_ == open_path_;
  if (source::kept_state(now) == state_ && (!is_stamped || stamp_of(state_) == stamp_)) return Done{};
  return Error{Trouble::kTransient, path_ + " changed while it was measured: list it when it is whole."};
}

// Of some objects nothing is known before they are asked for.
Result<store::Identity> RecordMeasurer::identity_of(const store::Locator& locator) const {
  if (locator.identity.size != 0) return locator.identity;
  store::Stat stat;
  stat.object = path_;
  if (Status status = store::Waiting(*locator.store).stat(stat); !status) return std::move(status.error());
  return stat.identity;
}

Error RecordMeasurer::failed(const char* doing, int error_number) const {
  if (error_number == source::kLeadsOut) return {Trouble::kContent, source::leads_out(path_)};
  return {source::content_trouble(error_number),
          path_ + " can't be " + doing + ": " + source::error_words(error_number) + "."};
}

Result<uint64_t> RecordMeasurer::bytes_of(const store::Locator& locator) {
  uint64_t bytes = locator.length < 0 ? 0 : static_cast<uint64_t>(locator.length);
  if (locator.length < 0 && locator.store != nullptr) {
    const Result<store::Identity> identity = identity_of(locator);
    if (!identity) return identity.error();
    bytes = identity->size > locator.offset ? identity->size - locator.offset : 0;
  } else if (locator.length < 0) {
    struct stat status;
    if (source::stat_file(listing_.bounds(), path_.c_str(), status) != 0) return failed("measured", errno);
    const auto file_bytes = static_cast<uint64_t>(status.st_size);
    bytes = S_ISREG(status.st_mode) && file_bytes > locator.offset ? file_bytes - locator.offset : 0;
  }
  if (bytes == 0) return Error{Trouble::kContent, path_ + " is empty, or is not a regular file."};
  return bytes;
}

Status RecordMeasurer::open(const store::Locator& locator) {
  if (view_ && open_path_ == path_ && open_store_ == locator.store) return Done{};
  open_path_ = path_;
  open_store_ = locator.store;
  view_.reset();
  if (locator.store != nullptr) {
    const Result<store::Identity> identity = identity_of(locator);
    if (!identity) return identity.error();
    view_ = std::make_unique<store::ObjectView>(*locator.store, path_, *identity);
    return Done{};
  }
  struct stat status;
  fd_.reset(source::open_file(listing_.bounds(), path_.c_str()));
  if (!fd_ || ::fstat(fd_.get(), &status) != 0) return failed("opened", errno);
  state_ = source::kept_state(status);
  if (locator.identity != store::Identity() && !source::is_listed(status, locator.identity))
    return Error{Trouble::kTransient, source::changed_since(path_)};
  if (!S_ISREG(status.st_mode)) return Error{Trouble::kContent, path_ + " is not a regular file."};
  view_ = std::make_unique<source::FileView>(fd_.get(), path_);
  return Done{};
}

Status RecordMeasurer::read(uint64_t offset, uint64_t count) {
  const Result<uint64_t> got = view_->read(offset, {bytes_.resize(count), count});
  if (!got) return got.error();
  if (*got < count) return Error{Trouble::kContent, path_ + " became shorter while it was read."};
  return Done{};
}

Result<uint64_t> RecordMeasurer::measured_of(const store::Locator& locator) {
  if (const Status opened = open(locator); !opened) return opened.error();
  const uint64_t file_bytes = view_->size();
  const uint64_t behind = locator.offset <= file_bytes ? file_bytes - locator.offset : 0;
  const uint64_t bytes = locator.length < 0 ? behind : static_cast<uint64_t>(locator.length);
  if (bytes == 0 || bytes > behind || bytes > kContentBytesMax)
    return Error{Trouble::kContent, path_ + " is empty, shorter than when it was listed, or over the limit."};
  if (is_of_videos()) {
    if (const Status whole = read(locator.offset, bytes); !whole) return whole.error();
    Result<uint64_t> measured = length_in(bytes_.bytes());
    bytes_.shrink(kKeptBytesMax);
    return measured;
  }
  const bool upright = measure_ == Measure::kUprightPicture;
  if (const Status head = read(locator.offset, std::min(bytes, kHeadBytes)); !head) return head.error();
  std::optional<media::PictureSides> sides = media::sides_in_head(bytes_.bytes(), upright);
  if (!sides) {
    if (bytes > kHeadBytes)
      if (const Status whole = read(locator.offset, bytes); !whole) return whole.error();
    const Result<uint64_t> measured = length_in(bytes_.bytes());
    bytes_.shrink(kKeptBytesMax);
    return measured;
  }
  return uint64_t{sides->height} << 32 | sides->width;
}

Result<uint64_t> RecordMeasurer::length_in(std::span<const uint8_t> content) {
  const auto measured = is_of_videos() ? duration_in(content) : sides_in(content);
  workspace_.shrink(kKeptBytesMax);
  if (!measured) return Error{measured.error().trouble, path_ + ": " + measured.error().message};
  return measured;
}

Result<uint64_t> RecordMeasurer::sides_in(std::span<const uint8_t> picture) {
  const auto sides = media::measure_picture(picture, measure_ == Measure::kUprightPicture, workspace_);
  if (!sides) return sides.error();
  return uint64_t{sides->height} << 32 | sides->width;
}

Result<uint64_t> RecordMeasurer::duration_in(std::span<const uint8_t> video) {
  const auto length = media::measure_video(video, workspace_);
  if (!length) return length.error();
  // A single frame may have no duration; it is a clip nevertheless.
  return measure_ == Measure::kFrames ? length->frames : std::max<uint64_t>(length->duration_ns, 1);
}

// The value must be taken out: what holds it says neither its bytes nor its pixels.
Result<uint64_t> RecordMeasurer::packed_length(const store::Locator& locator) {
  if (const Status opened = open(locator); !opened) return opened.error();
  const auto bytes = static_cast<uint64_t>(locator.length);
  const auto bad = [&](const std::string& clause) {
    return Error{Trouble::kContent, path_ + ", byte " + std::to_string(locator.offset) + ": " + clause + "."};
  };
  if (bytes > kContentBytesMax) return bad("it is over the limit");
  if (const Status whole = read(locator.offset, bytes); !whole) return whole.error();
  const auto piece = locator.packing->find(bytes_.bytes(), locator.packed);
  if (!piece) return bad(piece.error().message);
  if (piece->bytes_max > kContentBytesMax) return bad("its value is over the limit");
  const auto size = locator.packing->unpack(*piece, value_.resize(piece->bytes_max));
  if (!size) return bad(size.error().message);
  if (*size == 0) return bad("its value is empty");
  value_.resize(*size);
  Result<uint64_t> length = measure_ == Measure::kBytes ? *size : length_in(value_.bytes());
  bytes_.shrink(kKeptBytesMax);
  value_.shrink(kKeptBytesMax);
  return length;
}

}  // namespace spdld::rows
