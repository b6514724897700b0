// Writes MP4 files whose tracks have several sample descriptions ("stsd" entries), which the ffmpeg program does not
// write. For tests; a frame is shown in the order of its packet, 25 a second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spdld::test {

class MovieWriter {
 public:
  using Bytes = std::vector<uint8_t>;

  // The packets of an MP4 file follow, with the first description of its video. `keys`: their numbers.
  struct Packet {
    std::span<const uint8_t> bytes;
    bool is_key;
  };
  void add(Bytes description, const std::vector<Packet>& packets) {
    descriptions_.push_back(std::move(description));
    for (const Packet& packet : packets) {
      data_.insert(data_.end(), packet.bytes.begin(), packet.bytes.end());
      sizes_.push_back(static_cast<uint32_t>(packet.bytes.size()));
      if (packet.is_key) keys_.push_back(static_cast<uint32_t>(sizes_.size()));
    }
    ends_.push_back(static_cast<uint32_t>(sizes_.size()));
  }

  Bytes file() const {
    Bytes file = box("ftyp", joined({text("isom"), number(0x200), text("isommp42")}));
    const auto data_at = static_cast<uint32_t>(file.size() + 8);
    append(box("mdat", data_), file);
    append(box("moov", joined({movie_header(), track(data_at)})), file);
    return file;
  }

  // The first description in a file: the first entry of its "stsd" box.
  static Bytes description_in(const Bytes& file) {
    constexpr std::string_view kName = "stsd";
    const auto at = std::search(file.begin(), file.end(), kName.begin(), kName.end());
    const auto entry = at + 12;  // behind the name, the version and the count
    uint32_t bytes = 0;
    for (int i = 0; i < 4; ++i) bytes = bytes << 8 | entry[i];
    return {entry, entry + bytes};
  }

 private:
  static constexpr uint32_t kTicks = 25;

  static void append(const Bytes& from, Bytes& to) { to.insert(to.end(), from.begin(), from.end()); }
  static Bytes joined(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) append(part, all);
    return all;
  }
  static Bytes text(std::string_view chars) { return {chars.begin(), chars.end()}; }
  static Bytes number(uint32_t value) {
    return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
            static_cast<uint8_t>(value)};
  }
  static Bytes numbers(const std::vector<uint32_t>& values) {
    Bytes all;
    for (const uint32_t value : values) append(number(value), all);
    return all;
  }
  static Bytes zeros(size_t count) { return Bytes(count, 0); }
  static Bytes box(std::string_view name, const Bytes& content) {
    return joined({number(static_cast<uint32_t>(content.size() + 8)), text(name), content});
  }
  static Bytes unity() { return numbers({0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000}); }
  uint32_t duration() const { return static_cast<uint32_t>(sizes_.size()); }

  Bytes movie_header() const {
    return box("mvhd", joined({numbers({0, 0, 0, kTicks, duration(), 0x10000, 0x01000000, 0, 0}), unity(), zeros(24),
                               number(2)}));
  }
  Bytes track(uint32_t data_at) const {
    const Bytes head =
        box("tkhd", joined({numbers({3, 0, 0, 1, 0, duration(), 0, 0, 0, 0}), unity(), numbers({64 << 16, 64 << 16})}));
    const Bytes media_head = box("mdhd", numbers({0, 0, 0, kTicks, duration(), 0x55c40000}));
    const Bytes handler = box("hdlr", joined({numbers({0, 0}), text("vide"), zeros(13)}));
    const Bytes video_head = box("vmhd", numbers({1, 0, 0}));
    const Bytes reference = box("dinf", box("dref", joined({numbers({0, 1}), box("url ", number(1))})));
    const Bytes information = box("minf", joined({video_head, reference, table(data_at)}));
    return box("trak", joined({head, box("mdia", joined({media_head, handler, information}))}));
  }
  // A chunk for each description.
  Bytes table(uint32_t data_at) const {
    Bytes entries = numbers({0, static_cast<uint32_t>(descriptions_.size())});
    for (const Bytes& description : descriptions_) append(description, entries);
    std::vector<uint32_t> chunks = {0, static_cast<uint32_t>(ends_.size())}, places = chunks;
    uint32_t first = 0;
    for (uint32_t i = 0; i < ends_.size(); ++i) {
      chunks.insert(chunks.end(), {i + 1, ends_[i] - first, i + 1});
      places.push_back(data_at);
      for (; first < ends_[i]; ++first) data_at += sizes_[first];
    }
    std::vector<uint32_t> sizes = {0, 0, duration()}, keys = {0, static_cast<uint32_t>(keys_.size())};
    sizes.insert(sizes.end(), sizes_.begin(), sizes_.end());
    keys.insert(keys.end(), keys_.begin(), keys_.end());
    return box("stbl",
               joined({box("stsd", entries), box("stts", numbers({0, 1, duration(), 1})), box("stss", numbers(keys)),
                       box("stsc", numbers(chunks)), box("stsz", numbers(sizes)), box("stco", numbers(places))}));
  }

  Bytes data_;
  std::vector<Bytes> descriptions_;
  std::vector<uint32_t> sizes_, keys_, ends_;
};

}  // namespace spdld::test
