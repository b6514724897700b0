#include "daemon/source/tar.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "daemon/base/result.h"
#include "daemon/store/unpack/compression.h"

namespace spdld::source {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kExtensionMax = 1 << 20;  // bytes of a PAX header or a GNU long name
constexpr uint64_t kFileMax = uint64_t{1} << 56;
// Headers far apart are read a page at a time; where members are small, one read covers many of them.
constexpr uint64_t kReadMin = 4 << 10, kReadMax = 256 << 10;

// A field of a header block: where it starts and its length (both formats agree on these).
struct Place {
  size_t start, length;
};
constexpr Place kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 8}, kPrefix{345, 155};
constexpr size_t kType = 156, kSparseMore = 482, kSparseMapMore = 504;

uint64_t padded(uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

// Up to the first NUL.
std::string_view text_at(const uint8_t* block, Place place) {
  const char* text = reinterpret_cast<const char*>(block) + place.start;
  return {text, ::strnlen(text, place.length)};
}

// Octal digits, or big-endian binary after a byte 0x80 (GNU); at most 63 bits of it are taken.
std::optional<uint64_t> number_at(const uint8_t* block, Place place) {
  const uint8_t* field = block + place.start;
  uint64_t number = 0;
  if ((field[0] & 0x80) != 0) {
    if (field[0] != 0x80) return {};
    for (size_t i = 1; i < place.length; ++i) {
      if (number >> 55 != 0) return {};
      number = number << 8 | field[i];
    }
    return number;
  }
  const std::string_view text = text_at(block, place);
  size_t i = std::min(text.find_first_not_of(' '), text.size());
  for (; i < text.size() && text[i] != ' '; ++i) {
    if (text[i] < '0' || text[i] > '7') return {};
    number = number * 8 + static_cast<uint64_t>(text[i] - '0');  // twelve digits at most: 36 bits
  }
  return number;
}

// The sum of the block's bytes with the checksum field taken as spaces. Some old programs summed signed bytes.
bool checksum_is_right(const uint8_t* block) {
  const auto wanted = number_at(block, kChecksum);
  if (!wanted) return false;
  uint64_t sum = 0, high_bytes = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum.start && i < kChecksum.start + kChecksum.length;
    const uint8_t byte = own ? ' ' : block[i];
    sum += byte;
    high_bytes += byte >> 7;
  }
  return sum == *wanted || sum == *wanted + high_bytes * 256;
}

bool has_type(char type, std::string_view types) { return types.find(type) != std::string_view::npos; }

std::optional<uint64_t> decimal(std::string_view text) {
  uint64_t number = 0;
  if (text.empty() || text.size() > 18) return {};
  for (const char c : text) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

// PAX records: "LENGTH KEY=VALUE\n", LENGTH counting all of it. False: not of this form.
bool next_record(std::string_view& records, std::string_view& key, std::string_view& value) {
  const size_t space = records.find(' ');
  const auto length = decimal(records.substr(0, std::min(space, records.size())));
  if (space == std::string_view::npos || !length || *length > records.size() || *length < space + 3) return false;
  const std::string_view record = records.substr(space + 1, *length - space - 1);
  const size_t equals = record.find('=');
  if (record.back() != '\n' || equals == std::string_view::npos) return false;
  key = record.substr(0, equals);
  value = record.substr(equals + 1, record.size() - equals - 2);
  records.remove_prefix(*length);
  return true;
}

}  // namespace

struct TarReader::Header {
  char type = 0;
  std::string name;
  uint64_t size = 0;  // of what follows the header
  uint64_t start = 0;
  bool sparse_more = false;  // type S: its map goes on after the header
};

TarReader::TarReader(store::View& view, const std::string& path)
    : view_(view), file_size_(view.size()), read_size_(kReadMin) {
  if (file_size_ > kFileMax && file_size_ != store::View::kSizeUnknown) {
    throw SetupError(Trouble::kLimit, "the archive " + path + " has more than 64 PiB: is it one?");
  }
}

bool TarReader::stop(TarEnd end, std::string text) {
  ended_ = true;
  end_ = end;
  (end == TarEnd::kDamaged ? damage_ : cut_name_) = std::move(text);
  return false;
}

void TarReader::fill_window(uint64_t offset, uint64_t size) {
  const uint64_t window_end = window_start_ + window_.size();
  const bool near = offset >= window_end && offset - window_end < read_size_;
  read_size_ = near ? std::min(read_size_ * 2, kReadMax) : std::max(read_size_ / 2, kReadMin);
  const uint64_t wanted = std::min(std::max(size, read_size_), file_size_ - offset);
  uint8_t* bytes = window_.resize(wanted);
  window_start_ = offset;
  const Result<uint64_t> got = view_.read(offset, {bytes, wanted});
  if (!got) throw SetupError(got.error().trouble, got.error().message);
  window_.resize(*got);  // smaller where it has become shorter: keeps the bytes
  if (file_size_ == store::View::kSizeUnknown) file_size_ = view_.size();
}

const uint8_t* TarReader::bytes_at(uint64_t offset, uint64_t size) {
  if (size > file_size_ || offset > file_size_ - size) return nullptr;
  const auto held = [&] {
    return offset >= window_start_ && offset - window_start_ <= window_.size() &&
           size <= window_.size() - (offset - window_start_);
  };
  if (!held()) fill_window(offset, size);
  return held() ? window_.data() + (offset - window_start_) : nullptr;
}

bool TarReader::read_header(Header& header) {
  if (position_ == file_size_) return stop(TarEnd::kNoMark);
  const uint8_t* block = bytes_at(position_, kBlock);
  if (block == nullptr) return stop(position_ == file_size_ ? TarEnd::kNoMark : TarEnd::kCut);
  if (std::all_of(block, block + kBlock, [](uint8_t byte) { return byte == 0; })) return stop(TarEnd::kMark);
  const auto start = std::span(block, store::unpack::kMagicBytes);
  const auto compression = position_ == 0 ? name_of(store::unpack::compression_of(start)) : std::string_view();
  if (!compression.empty()) return stop(TarEnd::kDamaged, "it is compressed by " + std::string(compression));
  if (!checksum_is_right(block)) return stop(TarEnd::kDamaged, "a header's checksum is wrong");
  const auto size = number_at(block, kSize);
  if (!size) return stop(TarEnd::kDamaged, "a member's size is no number");

  header.type = static_cast<char>(block[kType]);
  header.name = text_at(block, kName);
  // GNU's magic is "ustar  ", and its prefix field holds other things.
  const bool ustar = std::memcmp(block + kMagic.start, "ustar\0", 6) == 0;
  const std::string_view prefix = ustar ? text_at(block, kPrefix) : std::string_view();
  if (!prefix.empty()) header.name = std::string(prefix) + '/' + header.name;
  header.size = *size;
  header.start = position_ + kBlock;
  header.sparse_more = block[kSparseMore] != 0;
  return true;
}

bool TarReader::read_extension(const Header& header, Extension& extension) {
  if (header.size > kExtensionMax) {
    return stop(TarEnd::kDamaged, "an extended header has " + std::to_string(header.size) + " bytes");
  }
  const uint8_t* bytes = bytes_at(header.start, header.size);
  if (bytes == nullptr) return stop(TarEnd::kCut);
  std::string_view text(reinterpret_cast<const char*>(bytes), header.size);
  if (header.type == 'L') {
    extension.name = text.substr(0, text.find('\0'));
    extension.has_name = true;
  }
  if (header.type != 'x' && header.type != 'X') return true;  // K: a link's target; g: says nothing of one member
  std::string_view key, value;
  while (!text.empty() && text.front() != '\0') {
    if (!next_record(text, key, value)) return stop(TarEnd::kDamaged, "an extended header is not in PAX form");
    if (key == "path" && !value.empty()) {
      extension.name = value.substr(0, value.find('\0'));
      extension.has_name = true;
    } else if (key == "size") {
      const auto size = decimal(value);
      if (!size) return stop(TarEnd::kDamaged, "a member's size in an extended header is no number");
      extension.size = *size;
      extension.has_size = true;
    } else if (key.starts_with("GNU.sparse.")) {
      extension.sparse = true;
    }
  }
  return true;
}

// An old GNU sparse member has further blocks of its map between header and content.
bool TarReader::skip_sparse_map(Header& header) {
  while (header.sparse_more) {
    const uint8_t* block = bytes_at(header.start, kBlock);
    if (block == nullptr) return stop(TarEnd::kCut, header.name);
    header.sparse_more = block[kSparseMapMore] != 0;
    header.start += kBlock;
  }
  return true;
}

// Where the size of the file is not known, the last byte of the content says that all of it is there.
bool TarReader::has_content(const Header& header) {
  if (file_size_ == store::View::kSizeUnknown && header.size > 0)
    return bytes_at(header.start + header.size - 1, 1) != nullptr;
  return header.start <= file_size_ && header.size <= file_size_ - header.start;
}

bool TarReader::next(TarMember& member) {
  Extension extension;
  Header header;
  while (!ended_ && read_header(header)) {  // each turn moves on by a block or more
    if (has_type(header.type, "LKxXg")) {
      if (!read_extension(header, extension)) return false;
      position_ = std::min(header.start + padded(header.size), file_size_);
      continue;
    }
    if (extension.has_name) header.name = extension.name;
    if (extension.has_size) header.size = extension.size;
    if (has_type(header.type, "123456")) header.size = 0;  // links, devices, folders: the number is no content's
    if (header.type == 'S' && !skip_sparse_map(header)) return false;
    if (!has_content(header)) return stop(TarEnd::kCut, header.name);
    position_ = std::min(header.start + padded(header.size), file_size_);  // the last member's padding may be missing

    const bool regular = has_type(header.type, std::string_view("0\0"
                                                                "7",
                                                                3)) &&
                         !header.name.ends_with('/');
    const bool readable = header.type != 'S' && !extension.sparse && header.name.size() <= kTarNameMax;
    if (regular && readable) {
      member.name = std::move(header.name);
      member.offset = header.start;
      member.size = header.size;
      return true;
    }
    unreadable_ += (regular && !readable) || header.type == 'S' ? 1 : 0;
    extension = {};
  }
  return false;
}

}  // namespace spdld::source
