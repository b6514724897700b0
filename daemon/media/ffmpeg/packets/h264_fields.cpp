#include "daemon/media/ffmpeg/packets/h264_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace spdld::ffmpeg {
namespace {

constexpr int kParameterSet = 7;    // type of a NAL unit
constexpr size_t kBytesMax = 1024;  // of a set, up to the flag

// The bits of a unit behind its header. Behind the last bit there are zeros, and is_over() tells.
class Bits {
 public:
  // Takes out the bytes that keep start codes out of the unit (7.4.1).
  explicit Bits(std::span<const uint8_t> unit) {
    int zeros = 0;
    for (const uint8_t byte : unit.first(std::min(unit.size(), kBytesMax))) {
      if (zeros >= 2 && byte == 3) {
        zeros = 0;
        continue;
      }
      zeros = byte == 0 ? zeros + 1 : 0;
      bytes_.push_back(byte);
    }
  }
  bool is_over() const { return at_ > 8 * bytes_.size(); }
  unsigned bit() {
    const size_t at = at_++;
    return at / 8 < bytes_.size() ? bytes_[at / 8] >> (7 - at % 8) & 1u : 0;
  }
  void skip(size_t bits) { at_ += bits; }
  // ue(v) (9.1). se(v) has as many bits.
  uint32_t number() {
    unsigned zeros = 0;
    while (zeros < 32 && bit() == 0) ++zeros;
    uint64_t value = 1;
    for (unsigned i = 0; i < zeros; ++i) value = value << 1 | bit();
    return static_cast<uint32_t>(value - 1);
  }
  // se(v) (9.1.1)
  int signed_number() {
    const int64_t number = this->number();
    return static_cast<int>(number % 2 == 1 ? (number + 1) / 2 : -(number / 2));
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

// scaling_list() (7.3.2.1.1.1)
void skip_scaling_list(Bits& bits, int size) {
  int last = 8, next = 8;
  for (int i = 0; i < size; ++i) {
    if (next != 0) next = (last + bits.signed_number() % 256 + 256) % 256;
    last = next == 0 ? last : next;
  }
}

void skip_chroma_and_scaling(Bits& bits) {
  const uint32_t chroma_format = bits.number();
  if (chroma_format == 3) bits.skip(1);
  bits.number();
  bits.number();  // depths
  bits.skip(1);
  if (bits.bit() == 0) return;
  for (int i = 0; i < (chroma_format == 3 ? 12 : 8); ++i)
    if (bits.bit() == 1) skip_scaling_list(bits, i < 6 ? 16 : 64);
}

void skip_order_count(Bits& bits) {
  const uint32_t type = bits.number();
  if (type == 0) bits.number();
  if (type != 1) return;
  bits.skip(1);
  bits.number();
  bits.number();
  const uint32_t cycle = std::min<uint32_t>(bits.number(), 255);
  for (uint32_t i = 0; i < cycle; ++i) bits.number();
}

bool has_chroma_format(unsigned profile) {
  constexpr std::array<unsigned, 13> kProfiles = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
  return std::find(kProfiles.begin(), kProfiles.end(), profile) != kProfiles.end();
}

// seq_parameter_set_data() (7.3.2.1.1), of a unit of at least 4 bytes.
bool may_have_fields(std::span<const uint8_t> unit) {
  Bits bits(unit.subspan(4));  // behind the type, the profile, its constraints and the level
  bits.number();
  if (has_chroma_format(unit[1])) skip_chroma_and_scaling(bits);
  bits.number();
  skip_order_count(bits);
  bits.number();
  bits.skip(1);
  bits.number();
  bits.number();  // width and height
  const bool has_frames_alone = bits.bit() == 1;
  return bits.is_over() || !has_frames_alone;
}

bool is_set(std::span<const uint8_t> unit) { return unit.size() >= 4 && (unit[0] & 31) == kParameterSet; }

// The first set of an avcC box (ISO/IEC 14496-15, 5.3.3.1).
std::optional<std::span<const uint8_t>> set_in_box(std::span<const uint8_t> box) {
  constexpr size_t kBefore = 8;
  if (box.size() < kBefore || (box[5] & 31) == 0) return std::nullopt;
  const size_t length = size_t{box[6]} << 8 | box[7];
  const auto unit = box.subspan(kBefore, std::min(length, box.size() - kBefore));
  return is_set(unit) ? std::optional(unit) : std::nullopt;
}

std::optional<std::span<const uint8_t>> set_behind_start_code(std::span<const uint8_t> bytes) {
  for (size_t i = 0; i + 3 < bytes.size(); ++i) {
    const bool is_start = bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1;
    if (is_start && is_set(bytes.subspan(i + 3))) return bytes.subspan(i + 3);
  }
  return std::nullopt;
}

}  // namespace

bool h264_may_have_fields(std::span<const uint8_t> header) {
  const bool is_box = !header.empty() && header[0] == 1;
  const auto unit = is_box ? set_in_box(header) : set_behind_start_code(header);
  return !unit || may_have_fields(*unit);
}

}  // namespace spdld::ffmpeg
