#include "daemon/media/ffmpeg/packets/stream_changes.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "daemon/base/formats/kept_bytes.h"

namespace spdld::ffmpeg {
namespace {

std::string_view content_chars(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::span<const uint8_t> StreamChanges::bytes_of(const Change& change) const {
  const Content& content = contents_[change.content];
  return std::span(bytes_).subspan(content.offset, content.bytes);
}

const StreamChanges::Change* StreamChanges::last(ChangeKind kind, uint32_t packet) const {
  const auto& changes = changes_[static_cast<size_t>(kind)];
  const auto behind = std::upper_bound(changes.begin(), changes.end(), packet,
                                       [](uint32_t at, const Change& change) { return at < change.packet; });
  return behind == changes.begin() ? nullptr : &*std::prev(behind);
}

std::span<const uint8_t> StreamChanges::at(ChangeKind kind, uint32_t packet) const {
  const Change* const change = last(kind, packet);
  return change == nullptr ? std::span<const uint8_t>() : bytes_of(*change);
}

std::span<const uint8_t> StreamChanges::of(ChangeKind kind, uint32_t packet) const {
  const Change* const change = last(kind, packet);
  return change == nullptr || change->packet != packet ? std::span<const uint8_t>() : bytes_of(*change);
}

uint32_t StreamChanges::begin_of(ChangeKind kind, uint32_t packet) const {
  const Change* const change = last(kind, packet);
  return change == nullptr ? 0 : change->packet;
}

// Files go to and fro between a few headers.
std::optional<uint32_t> StreamChanges::content_of(std::span<const uint8_t> content) {
  const uint64_t hash = std::hash<std::string_view>()(content_chars(content));
  for (size_t i = 0; i < contents_.size(); ++i) {
    const Content& known = contents_[i];
    if (known.hash == hash && known.bytes == content.size() &&
        std::equal(content.begin(), content.end(), bytes_.begin() + static_cast<ptrdiff_t>(known.offset)))
      return static_cast<uint32_t>(i);
  }
  if (contents_.size() == kContentsMax || content.size() > kBytesMax - bytes_.size()) return std::nullopt;
  contents_.push_back({bytes_.size(), content.size(), hash});
  bytes_.insert(bytes_.end(), content.begin(), content.end());
  return static_cast<uint32_t>(contents_.size() - 1);
}

bool StreamChanges::add(ChangeKind kind, uint32_t packet, std::span<const uint8_t> content) {
  if (content.empty()) return true;
  const std::optional<uint32_t> number = content_of(content);
  if (!number) return false;
  auto& changes = changes_[static_cast<size_t>(kind)];
  if (changes.empty() || changes.back().content != *number) changes.push_back({packet, *number});
  return true;
}

void StreamChanges::pack(KeptWriter& to) const {
  to.number(contents_.size());
  for (const Content& content : contents_)
    to.text(content_chars(std::span(bytes_).subspan(content.offset, content.bytes)));
  for (const auto& changes : changes_) {
    to.number(changes.size());
    uint32_t packet = 0;
    for (const Change& change : changes) {
      to.number(change.packet - packet);
      to.number(change.content);
      packet = change.packet;
    }
  }
}

std::optional<StreamChanges> StreamChanges::unpacked(KeptReader& from, uint64_t packets) {
  StreamChanges all;
  const uint64_t contents = from.number();
  if (contents > from.rest().size()) return std::nullopt;
  for (uint64_t i = 0; i < contents; ++i) {
    const std::string_view text = from.text();
    if (text.empty() || text.size() > kBytesMax - all.bytes_.size()) return std::nullopt;
    all.contents_.push_back({all.bytes_.size(), text.size(), 0});
    all.bytes_.insert(all.bytes_.end(), text.begin(), text.end());
  }
  for (auto& changes : all.changes_) {
    const uint64_t count = from.number();
    if (count > from.rest().size()) return std::nullopt;
    uint64_t packet = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t step = from.number(), content = from.number();
      packet += step;
      if (step > packets || packet >= packets || content >= contents || (i > 0 && step == 0)) return std::nullopt;
      changes.push_back({static_cast<uint32_t>(packet), static_cast<uint32_t>(content)});
    }
  }
  return from.ok() ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace spdld::ffmpeg
