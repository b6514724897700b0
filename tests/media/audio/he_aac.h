// Files of HE-AAC for tests, which no packaged encoder makes: spectral band replication (SBR, ISO/IEC 14496-3, 4.6.18)
// is written behind each frame of an AAC file of 24,000 samples a second, which has 48,000 then.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spdld::test {

class BitWriter {
 public:
  explicit BitWriter(std::vector<bool> bits = {}) : bits_(std::move(bits)) {}
  void put(unsigned value, int count) {
    for (int i = count - 1; i >= 0; --i) bits_.push_back((value >> i & 1) != 0);
  }
  size_t size() const { return bits_.size(); }
  void append(const BitWriter& other) { bits_.insert(bits_.end(), other.bits_.begin(), other.bits_.end()); }
  std::string bytes() const {
    std::string all((bits_.size() + 7) / 8, '\0');
    for (size_t i = 0; i < bits_.size(); ++i)
      if (bits_[i]) all[i / 8] = static_cast<char>(static_cast<uint8_t>(all[i / 8]) | 0x80 >> i % 8);
    return all;
  }

 private:
  std::vector<bool> bits_;
};

// The replicated bands of a frame: 13 subbands from the 13th on, in 6 bands of two envelopes, and one band of noise.
// Their levels change from frame to frame; levels of a frame without a header are told as changes.
inline BitWriter sbr_of_frame(unsigned number, int channels, bool has_header) {
  constexpr unsigned kSbrType = 13, kBands = 6;
  BitWriter sbr;
  const auto for_each_channel = [&](auto put) {
    for (int channel = 0; channel < channels; ++channel) put();
  };
  const auto put_changes = [&](unsigned count, unsigned code, int bits) {
    sbr.put(code, bits);
    for (unsigned i = 1; i < count; ++i) sbr.put(0, 1);
  };
  sbr.put(kSbrType, 4);
  sbr.put(has_header ? 1 : 0, 1);
  if (has_header) {
    sbr.put(1, 1);                     // steps of 3 dB
    sbr.put(5, 4), sbr.put(14, 4);     // from the 13th subband of 64, up to twice of it
    sbr.put(0, 3 + 2);                 // no band is left to AAC
    sbr.put(1, 1), sbr.put(0, 1);      // the scale of frequencies follows
    sbr.put(0, 2 + 1), sbr.put(0, 2);  // linear; one band of noise
  }
  sbr.put(0, 1);                                            // nothing reserved
  if (channels == 2) sbr.put(0, 1);                         // each channel has its own levels
  for_each_channel([&] { sbr.put(1, 4), sbr.put(0, 1); });  // two envelopes of the same length and of few bands
  for_each_channel([&] {  // a frame with a header tells its first envelope, and its first noise, by themselves
    sbr.put(has_header ? 1 : 3, 2), sbr.put(has_header ? 1 : 3, 2);
  });
  for_each_channel([&] { sbr.put(1, 2); });  // a low level of inverse filtering
  for_each_channel([&] {
    if (has_header)
      sbr.put(20 + number % 3, 6), put_changes(kBands - 1, 0, 1);
    else
      put_changes(kBands, number % 2 == 0 ? 6 : 2, number % 2 == 0 ? 3 : 2);  // one step up, or one down
    put_changes(kBands, 0, 1);                                                // the second envelope is as the first one
  });
  for_each_channel([&] { sbr.put(has_header ? 6 : 0, has_header ? 5 : 1), sbr.put(0, 1); });
  for_each_channel([&] { sbr.put(0, 1); });  // no sines
  sbr.put(0, 1);                             // and no further data
  return sbr;
}

// The frame's body with the replicated bands before the element that ends it.
inline std::string with_sbr(const std::string& body, const BitWriter& sbr) {
  constexpr unsigned kFill = 6, kEnd = 7, kLong = 15;
  std::vector<bool> bits;
  for (size_t i = 0; i < body.size() * 8; ++i)
    bits.push_back((static_cast<uint8_t>(body[i / 8]) >> (7 - i % 8) & 1) != 0);
  while (!bits.back()) bits.pop_back();
  bits.resize(bits.size() - 3);
  BitWriter frame(std::move(bits));
  const auto count = static_cast<unsigned>((sbr.size() + 7) / 8);
  frame.put(kFill, 3), frame.put(std::min(count, kLong), 4);
  if (count >= kLong) frame.put(count - kLong + 1, 8);
  frame.append(sbr);
  frame.put(0, static_cast<int>(count * 8 - sbr.size()));
  frame.put(kEnd, 3);
  return frame.bytes();
}

// `adts`: as the ffmpeg program encodes it, of one channel or two. One in `header_period` frames has a header; 0:
// none has, and a decoder replicates no band.
inline std::string he_aac_of(const std::string& adts, unsigned header_period) {
  constexpr size_t kHeadBytes = 7;
  std::string all;
  unsigned number = 0;
  for (size_t at = 0; at < adts.size(); ++number) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(adts[at + i]); };
    const size_t length = size_t{byte(3) & 3u} << 11 | size_t{byte(4)} << 3 | byte(5) >> 5;
    REQUIRE((byte(1) & 1) == 1);  // no checksum
    const BitWriter sbr = sbr_of_frame(number, byte(3) >> 6, header_period != 0 && number % header_period == 0);
    const std::string body = with_sbr(adts.substr(at + kHeadBytes, length - kHeadBytes), sbr);
    const size_t grown = body.size() + kHeadBytes;
    std::string head = adts.substr(at, kHeadBytes);
    head[3] = static_cast<char>((byte(3) & ~3u) | grown >> 11);
    head[4] = static_cast<char>(grown >> 3 & 0xFF);
    head[5] = static_cast<char>((byte(5) & 0x1Fu) | (grown & 7) << 5);
    all += head + body;
    at += length;
  }
  return all;
}

}  // namespace spdld::test
