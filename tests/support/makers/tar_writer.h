// Writes tar archives for tests, header by header, so that every kind and every fault can be made. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace spdld::test {

class TarWriter {
 public:
  // One header block. `magic` is "ustar" (POSIX), "gnu" or "" (the seventh edition's).
  static std::string header(std::string_view name, uint64_t size, char type = '0', std::string_view magic = "ustar",
                            std::string_view prefix = {}) {
    std::string block(512, '\0');
    put(block, 0, name.substr(0, 100));
    put(block, 100, "0000644");
    put(block, 108, "0001750");
    put(block, 116, "0001750");
    put_octal(block, 124, 11, size);
    put(block, 136, "14371234567");
    block[156] = type;
    if (magic == "ustar") block.replace(257, 8, std::string_view("ustar\00000", 8));
    if (magic == "gnu") block.replace(257, 8, std::string_view("ustar  \0", 8));
    if (magic == "ustar") put(block, 345, prefix);
    return with_checksum(block);
  }
  // A size that octal digits can't hold, as GNU tar writes it.
  static std::string with_binary_size(std::string block, uint64_t size) {
    block[124] = static_cast<char>(0x80);
    for (size_t i = 0; i < 11; ++i) block[135 - i] = static_cast<char>(i < 8 ? size >> (8 * i) : 0);
    return with_checksum(block);
  }
  static std::string with_checksum(std::string block) {
    block.replace(148, 8, "        ");
    uint64_t sum = 0;
    for (const char c : block) sum += static_cast<uint8_t>(c);
    put_octal(block, 148, 6, sum);
    block[154] = '\0';
    return block;
  }
  static std::string padded(std::string_view content) {
    std::string blocks(content);
    blocks.resize((blocks.size() + 511) / 512 * 512);
    return blocks;
  }
  static std::string pax_record(std::string_view key, std::string_view value) {
    size_t length = key.size() + value.size() + 3;
    while (std::to_string(length).size() + key.size() + value.size() + 3 != length) ++length;
    return std::to_string(length) + ' ' + std::string(key) + '=' + std::string(value) + '\n';
  }

  TarWriter& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  TarWriter& file(std::string_view name, std::string_view content) {
    return raw(header(name, content.size())).raw(padded(content));
  }
  // A link's header has nothing behind it. `type`: '1' a hard link, '2' a symbolic one.
  static std::string link_header(std::string_view name, std::string_view target, char type = '2', uint64_t size = 0,
                                 std::string_view magic = "ustar") {
    std::string block = header(name, size, type, magic);
    put(block, 157, target.substr(0, 100));
    return with_checksum(block);
  }
  TarWriter& hard_link(std::string_view name, std::string_view target) { return raw(link_header(name, target, '1')); }
  TarWriter& symbolic_link(std::string_view name, std::string_view target) { return raw(link_header(name, target)); }
  TarWriter& folder(std::string_view name) { return raw(header(name, 0, '5')); }
  TarWriter& gnu_long_file(std::string_view name, std::string_view content) {
    raw(header("././@LongLink", name.size() + 1, 'L', "gnu")).raw(padded(std::string(name) + '\0'));
    return raw(header(name, content.size(), '0', "gnu")).raw(padded(content));
  }
  // `records` of pax_record stand before a member whose own header says `name`.
  TarWriter& pax_file(std::string_view records, std::string_view name, std::string_view content) {
    raw(header("PaxHeaders/x", records.size(), 'x')).raw(padded(records));
    return file(name, content);
  }
  TarWriter& end() { return raw(std::string(1024, '\0')); }

  const std::string& bytes() const { return bytes_; }
  void save(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary).write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

 private:
  static void put(std::string& block, size_t at, std::string_view text) { block.replace(at, text.size(), text); }
  static void put_octal(std::string& block, size_t at, int digits, uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(number));
    put(block, at, text);
  }

  std::string bytes_;
};

}  // namespace spdld::test
