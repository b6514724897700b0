#include "daemon/base/formats/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "config/text/words.h"
#include "daemon/base/formats/little_endian.h"

namespace spdld::array {
namespace {

using config::DType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kCitedBytes = 32;

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

struct TypeCode {
  std::string_view code;  // kind and bytes, as numpy's array protocol has them
  DType dtype;
};
constexpr std::array<TypeCode, 14> kTypeCodes = {{{"b1", DType::kBool},
                                                  {"i1", DType::kInt8},
                                                  {"u1", DType::kUint8},
                                                  {"i2", DType::kInt16},
                                                  {"u2", DType::kUint16},
                                                  {"i4", DType::kInt32},
                                                  {"u4", DType::kUint32},
                                                  {"i8", DType::kInt64},
                                                  {"u8", DType::kUint64},
                                                  {"f2", DType::kFloat16},
                                                  {"f4", DType::kFloat32},
                                                  {"f8", DType::kFloat64},
                                                  {"c8", DType::kComplex64},
                                                  {"c16", DType::kComplex128}}};

// Takes the parts of the dict literal off the front of a text.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : rest_(text) {}

  Result<Npy> read() {
    if (!take('{')) return bad("its header is no dict");
    while (!take('}')) {
      const auto key = take_text();
      if (!key || !take(':')) return bad("its header is no dict of texts");
      if (Status status = read_entry(*key); !status) return status.error();
      if (!take(',') && next() != '}') return bad("its header's dict has no end");
    }
    skip_blanks();
    if (!rest_.empty()) return bad("its header has more than a dict");
    if (!has_descr_ || !has_order_ || !has_shape_)
      return bad("its header lacks one of 'descr', 'fortran_order' and 'shape'");
    return std::move(npy_);
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  char next() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (c != next()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // None: there is no text in quotes, or it has a backslash, which no key and no type has.
  std::optional<std::string_view> take_text() {
    const char quote = next();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    if (text.find('\\') != std::string_view::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  Status read_entry(std::string_view key) {
    const auto once = [](bool& has) { return !std::exchange(has, true); };
    if (key == "descr" && once(has_descr_)) return read_descr();
    if (key == "fortran_order" && once(has_order_)) return read_order();
    if (key == "shape" && once(has_shape_)) return read_shape();
    return bad("its header has the key '" + config::printable(key.substr(0, kCitedBytes)) +
               "', which is unknown or there twice");
  }

  Status read_descr() {
    if (next() == '[') return bad("its elements are records of several fields, which are no numbers");
    const auto descr = take_text();
    if (!descr) return bad("its header's 'descr' is no text");
    const auto found = std::find_if(kTypeCodes.begin(), kTypeCodes.end(), [&](const TypeCode& type) {
      return descr->size() > 1 && type.code == descr->substr(1);
    });
    const char order = descr->empty() ? '\0' : descr->front();
    if (found == kTypeCodes.end() || std::string_view("<>|").find(order) == std::string_view::npos)
      return bad("its elements are of type '" + config::printable(descr->substr(0, kCitedBytes)) +
                 "', which no tensor has");
    npy_.dtype = found->dtype;
    npy_.is_big_endian = order == '>';
    if (order == '|' && config::dtype_bytes(npy_.dtype) > 1) return bad("its header says no order of bytes");
    return Done{};
  }

  Status read_order() {
    npy_.is_fortran = take_word("True");
    if (npy_.is_fortran || take_word("False")) return Done{};
    return bad("its header's 'fortran_order' is neither True nor False");
  }

  Status read_shape() {
    if (!take('(')) return bad("its header's 'shape' is no tuple");
    while (!take(')')) {
      uint64_t size = 0;
      skip_blanks();
      const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc()) return bad("its header's 'shape' is no tuple of numbers");
      rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // a long number of Python 2, as numpy reads it
      if (npy_.shape.size() == kNpyRankMax)
        return bad("it has more than " + std::to_string(kNpyRankMax) + " dimensions");
      npy_.shape.push_back(size);
      if (!take(',') && (next() != ')' || npy_.shape.size() == 1)) return bad("its header's 'shape' is no tuple");
    }
    return Done{};
  }

  std::string_view rest_;
  Npy npy_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

void turn_bytes(uint8_t* bytes, size_t number_bytes, uint64_t numbers) {
  for (uint64_t i = 0; i < numbers; ++i) std::reverse(bytes + i * number_bytes, bytes + (i + 1) * number_bytes);
}

}  // namespace

std::optional<uint64_t> data_bytes(const Npy& npy) {
  if (std::find(npy.shape.begin(), npy.shape.end(), uint64_t{0}) != npy.shape.end()) return 0;
  uint64_t bytes = config::dtype_bytes(npy.dtype);
  for (const uint64_t size : npy.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  return bytes;
}

Result<Npy> read_npy_header(std::string_view dict) { return DictReader(dict).read(); }

Result<NpyStart> read_npy_start(std::span<const uint8_t> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) return bad("it is no .npy file: it does not begin with \\x93NUMPY");
  constexpr size_t kVersionBytes = 2;
  const size_t place = kMagic.size() + kVersionBytes;  // of the header's length
  const unsigned version = text.size() < place ? 0 : file[kMagic.size()];
  if (version < 1 || version > 3 || file[kMagic.size() + 1] != 0)
    return bad("its format's version is none of 1.0, 2.0 and 3.0");
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (text.size() < place + length_bytes) return bad("it ends within its header");
  const uint64_t length = little_endian(file.subspan(place, length_bytes));
  if (length > kNpyHeaderBytesMax)
    return bad("its header of " + std::to_string(length) + " bytes is above the limit of " +
               std::to_string(kNpyHeaderBytesMax));
  const size_t data_place = place + length_bytes + static_cast<size_t>(length);
  if (text.size() < data_place) return bad("it ends within its header");

  Result<Npy> npy = read_npy_header(text.substr(place + length_bytes, static_cast<size_t>(length)));
  if (!npy) return npy.error();
  return NpyStart{std::move(*npy), data_place};
}

std::string npy_start_of(DType dtype, std::span<const uint64_t> shape) {
  constexpr size_t kMultiple = 64;  // at which elements begin
  const auto found =
      std::find_if(kTypeCodes.begin(), kTypeCodes.end(), [&](const TypeCode& type) { return type.dtype == dtype; });
  const std::string order = config::dtype_bytes(dtype) == 1 ? "|" : "<";
  std::string dict = "{'descr': '" + order + std::string(found->code) +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  std::string start = std::string(kMagic) + std::string("\x01\0", 2);
  const size_t head = start.size() + 2, whole = (head + dict.size() + 1 + kMultiple - 1) / kMultiple * kMultiple;
  dict.append(whole - head - dict.size() - 1, ' ') += '\n';
  start += {static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return start + dict;
}

Result<Npy> read_npy(std::span<const uint8_t> file) {
  Result<NpyStart> start = read_npy_start(file);
  if (!start) return start.error();
  Npy& npy = start->npy;
  npy.data = file.subspan(static_cast<size_t>(start->data_place));
  const auto wanted = data_bytes(npy);
  if (wanted != npy.data.size())
    return bad("it has " + std::to_string(npy.data.size()) + " bytes of data, not the bytes of " +
               std::string(config::dtype_name(npy.dtype)) + " " + shape_text(npy.shape));
  return std::move(npy);
}

void copy_elements(const Npy& from, uint64_t count, uint8_t* to) {
  const size_t element_bytes = config::dtype_bytes(from.dtype);
  if (count == 0) return;
  std::memcpy(to, from.data.data(), count * element_bytes);
  const bool is_complex = from.dtype == DType::kComplex64 || from.dtype == DType::kComplex128;
  const size_t number_bytes = is_complex ? element_bytes / 2 : element_bytes;
  if (from.is_big_endian && number_bytes > 1) turn_bytes(to, number_bytes, count * (element_bytes / number_bytes));
}

std::string shape_text(std::span<const uint64_t> shape) {
  std::string text = "(";
  for (const uint64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace spdld::array
