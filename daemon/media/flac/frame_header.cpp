#include "daemon/media/flac/frame_header.h"

#include <bit>

#include "daemon/media/flac/crc.h"

namespace spdld::flac {
namespace {

constexpr size_t kFixedBytes = 4;
constexpr auto kCrc8 = make_crc_tables<uint8_t, 0x07, 1>();

// RFC 9639, 9.1.1; `more` is what stands behind the coded number.
uint32_t samples_of_code(unsigned code, uint32_t more) {
  if (code == 1) return 192;
  if (code <= 5) return 576u << (code - 2);
  return code >= 8 ? 256u << (code - 8) : more + 1;
}

// Reads numbers of the header one behind the other. The header's length is bounded, so that they lie in the window.
class HeaderReader {
 public:
  explicit HeaderReader(const HeaderWindow& window) : window_(window) {}

  uint32_t next(size_t bytes) {
    uint32_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8 | window_[at_++];
    return value;
  }
  // RFC 9639, 9.1.5: as in UTF-8. False: it is no such number.
  bool number(FrameHeader& header) {
    const uint8_t first = window_[at_++];
    const int ones = std::countl_one(first);
    if (ones == 1 || ones == 8) return false;
    header.number_bytes = ones == 0 ? 1 : static_cast<size_t>(ones);
    header.number = first & (0xFFu >> (ones + 1));
    for (size_t i = 1; i < header.number_bytes; ++i) {
      const uint8_t byte = window_[at_++];
      if ((byte & 0xC0) != 0x80) return false;
      header.number = header.number << 6 | (byte & 0x3Fu);
    }
    return true;
  }
  // Whether the byte that follows is the CRC-8 of all before it.
  bool checks() {
    uint8_t crc = 0;
    for (size_t i = 0; i < at_; ++i) crc = kCrc8[0][crc ^ window_[i]];
    return crc == window_[at_++];
  }
  size_t at() const { return at_; }

 private:
  const HeaderWindow& window_;
  size_t at_ = kFixedBytes;
};

}  // namespace

int FrameHeader::rate_hz() const {
  constexpr std::array kRates_hz = {0,      88'200, 176'400, 192'000, 8000,   16'000,
                                    22'050, 24'000, 32'000,  44'100,  48'000, 96'000};
  if (rate_code < kRates_hz.size()) return kRates_hz[rate_code];
  const int told = static_cast<int>(rate);
  return rate_code == 12 ? told * 1000 : rate_code == 13 ? told : told * 10;
}

int FrameHeader::sample_bits() const {
  constexpr std::array kBits = {0, 8, 12, -1, 16, 20, 24, -1};
  return kBits[size_code];
}

std::optional<FrameHeader> read_header(const HeaderWindow& window) {
  const unsigned block_code = window[2] >> 4, rate_code = window[2] & 15;
  FrameHeader header;
  header.is_variable = (window[1] & 1) != 0;
  header.rate_code = rate_code;
  header.assignment = window[3] >> 4;
  header.size_code = window[3] >> 1 & 7;
  const bool is_reserved = block_code == 0 || rate_code == 15 || header.assignment > 10 || header.size_code == 3;
  if (is_reserved || (window[3] & 1) != 0) return std::nullopt;
  HeaderReader reader(window);
  if (!reader.number(header)) return std::nullopt;
  header.samples = samples_of_code(block_code, block_code == 6 || block_code == 7 ? reader.next(block_code - 5) : 0);
  if (rate_code >= 12) header.rate = reader.next(rate_code == 12 ? 1 : 2);
  if (!reader.checks()) return std::nullopt;
  header.bytes = reader.at();
  header.subframe = window[reader.at()];
  return header;
}

}  // namespace spdld::flac
