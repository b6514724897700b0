#include "daemon/source/archives/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

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
constexpr Place kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kTarget{157, 100}, kMagic{257, 8}, kPrefix{345, 155};
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

bool is_zero(const uint8_t* bytes, uint64_t count) {
  static constexpr std::array<uint8_t, kBlock> kZeros{};
  return std::memcmp(bytes, kZeros.data(), count) == 0;
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
  bool is_posix = false;  // by its magic
  std::string name, target;
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

// Behind a block of zeros. True: a header follows, of this archive or of another one. An archive ends with two such
// blocks at least, and mostly with more, which fill up a record.
bool TarReader::pass_zeros() {
  const uint64_t zeros_start = position_;
  uint64_t at = zeros_start + kBlock;
  const uint8_t* block = bytes_at(at, kBlock);
  for (; block != nullptr && is_zero(block, kBlock); block = bytes_at(at, kBlock)) {
    at += kBlock;
    if (at - zeros_start > kZerosMax) {
      tail_ = {TarTailKind::kUnseen, at};
      return stop(TarEnd::kMark);
    }
  }
  if (block == nullptr || !checksum_is_right(block)) return stop_behind(zeros_start, at);
  if (at - zeros_start > kBlock) {
    ++part_;
    of_all_ = {};
  } else if (++lone_zeros_ == 1) {
    first_lone_zero_ = zeros_start;
  }
  position_ = at;
  return true;
}

// The zeros end before `at`, where no header stands.
bool TarReader::stop_behind(uint64_t zeros_start, uint64_t at) {
  constexpr uint64_t kLookedAt = 2 * kBlock;  // a header that begins anywhere in the first block has its magic there
  uint64_t seen = 0;
  const uint8_t* bytes = nullptr;
  for (int i = 0; i < 2 && bytes == nullptr; ++i) {  // the first time may find where the file ends
    seen = at < file_size_ ? std::min(file_size_ - at, kLookedAt) : 0;
    bytes = seen == 0 ? nullptr : bytes_at(at, seen);
  }
  if (bytes == nullptr) seen = 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes), seen);
  if (text.find_first_not_of('\0') != std::string_view::npos) {
    const bool looks_like_tar = text.find("ustar") != std::string_view::npos;
    tail_ = {looks_like_tar ? TarTailKind::kArchive : TarTailKind::kOther, at};
  }
  position_ = zeros_start;
  return stop(TarEnd::kMark);
}

bool TarReader::read_header(Header& header) {
  if (position_ == file_size_) return stop(TarEnd::kNoMark);
  const uint8_t* block = bytes_at(position_, kBlock);
  if (block == nullptr) return stop(position_ == file_size_ ? TarEnd::kNoMark : TarEnd::kCut);
  if (is_zero(block, kBlock)) {
    if (!pass_zeros()) return false;
    block = bytes_at(position_, kBlock);
    if (block == nullptr) return stop(TarEnd::kCut);
  }
  const auto start = std::span(block, store::unpack::kMagicBytes);
  const auto compression = position_ == 0 ? name_of(store::unpack::compression_of(start)) : std::string_view();
  if (!compression.empty()) return stop(TarEnd::kDamaged, "it is compressed by " + std::string(compression));
  if (!checksum_is_right(block)) return stop(TarEnd::kDamaged, "a header's checksum is wrong");
  const auto size = number_at(block, kSize);
  if (!size) return stop(TarEnd::kDamaged, "a member's size is no number");

  header.type = static_cast<char>(block[kType]);
  header.name = text_at(block, kName);
  // GNU's magic is "ustar  ", and its prefix field holds other things.
  header.is_posix = std::memcmp(block + kMagic.start, "ustar\0", 6) == 0;
  const std::string_view prefix = header.is_posix ? text_at(block, kPrefix) : std::string_view();
  if (!prefix.empty()) header.name = std::string(prefix) + '/' + header.name;
  header.target = has_type(header.type, "12") ? text_at(block, kTarget) : std::string_view();
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
  if (header.type == 'L') extension.name = text.substr(0, text.find('\0'));
  if (header.type == 'K') extension.target = text.substr(0, text.find('\0'));
  if (!has_type(header.type, "xXg")) return true;
  Extension& extended = header.type == 'g' ? of_all_ : extension;
  std::string_view key, value;
  while (!text.empty() && text.front() != '\0') {
    if (!next_record(text, key, value)) return stop(TarEnd::kDamaged, "an extended header is not in PAX form");
    if (!take_record(key, value, extended)) return false;
  }
  return true;
}

bool TarReader::take_record(std::string_view key, std::string_view value, Extension& extension) {
  if (key == "path" || key == "GNU.sparse.name") {
    // A sparse file's path is one that GNU tar makes up.
    if (key == "path" && extension.sparse && extension.name) return true;
    extension.name = value.substr(0, value.find('\0'));
  } else if (key == "linkpath") {
    extension.target = value.substr(0, value.find('\0'));
  } else if (key == "size") {
    extension.size = decimal(value);
    if (!extension.size) return stop(TarEnd::kDamaged, "a member's size in an extended header is no number");
  }
  extension.sparse = extension.sparse || key.starts_with("GNU.sparse.");
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

// POSIX lets a hard link have its file's bytes behind its header. Other formats write the file's size there, and no
// bytes. The block behind the header tells which of the two it is.
bool TarReader::has_link_content(const Header& header) {
  if (header.type != '1' || header.size == 0 || !header.is_posix) return false;
  const uint8_t* block = bytes_at(header.start, kBlock);
  return block != nullptr && !is_zero(block, kBlock) && !checksum_is_right(block);
}

namespace {

// Takes the value of one member, else the value of all members; an empty text stands for the header's own value.
template <typename Value>
void override_by(const std::optional<Value>& own, const std::optional<Value>& of_all, Value& value) {
  const auto& said = own ? own : of_all;
  if (!said) return;
  if constexpr (std::is_same_v<Value, std::string>)
    if (said->empty()) return;
  value = *said;
}

TarMemberKind kind_of(char type, bool is_sparse, bool ends_like_folder) {
  switch (type) {
    case '1':
      return TarMemberKind::kHardLink;
    case '2':
      return TarMemberKind::kSymbolicLink;
    case '3':
    case '4':
    case '6':
      return TarMemberKind::kSpecial;
    case '5':
    case 'D':
      return TarMemberKind::kFolder;
    case 'S':
      return TarMemberKind::kSparse;
    case 'M':
      return TarMemberKind::kContinued;
    case 'N':
      return TarMemberKind::kRenames;
    default:
      break;
  }
  if (ends_like_folder) return TarMemberKind::kFolder;
  return is_sparse ? TarMemberKind::kSparse : TarMemberKind::kFile;
}

}  // namespace

// Finds where the member's bytes lie, and goes behind them.
bool TarReader::settle(Header& header, const Extension& extension) {
  override_by(extension.name, of_all_.name, header.name);
  override_by(extension.target, of_all_.target, header.target);
  override_by(extension.size, of_all_.size, header.size);
  if (has_link_content(header)) header.type = '0';
  if (has_type(header.type, "123456")) header.size = 0;  // links, devices, folders: the number is no content's
  if (header.type == 'S' && !skip_sparse_map(header)) return false;
  if (!has_content(header)) return stop(TarEnd::kCut, header.name);
  position_ = std::min(header.start + padded(header.size), file_size_);  // the last member's padding may be missing
  return true;
}

void TarReader::give(Header& header, const Extension& extension, TarMember& member) {
  member.kind = kind_of(header.type, extension.sparse, header.name.ends_with('/'));
  const bool is_known = header.type == '\0' || has_type(header.type, "07");
  member.unknown_type = member.kind == TarMemberKind::kFile && !is_known ? header.type : '\0';
  member.name = std::move(header.name);
  member.target = std::move(header.target);
  member.offset = header.start;
  member.size = header.size;
  member.number = members_++;
  member.part = part_;
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
    if (!settle(header, extension)) return false;
    // A volume's label, and Solaris's access rights of the member behind them.
    if (has_type(header.type, "VA")) {
      if (header.type == 'V') extension = {};
      continue;
    }
    give(header, extension, member);
    return true;
  }
  return false;
}

}  // namespace spdld::source
