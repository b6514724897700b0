#include "daemon/media/image/codecs/baseline/plain_jpeg.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace spdld::image::baseline {
namespace {

// T.81, tables K.3 to K.6.
constexpr CodeLengths kLumaDc{{0, 0, 1, 5, 1, 1, 1, 1, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
constexpr CodeLengths kChromaDc{{0, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
constexpr CodeLengths kLumaAc{
    {0, 0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125},
    {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
     0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52, 0xD1, 0xF0, 0x24, 0x33, 0x62, 0x72,
     0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35, 0x36, 0x37,
     0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
     0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x83,
     0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0xA2, 0xA3,
     0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3,
     0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2,
     0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA}};
constexpr CodeLengths kChromaAc{
    {0, 0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119},
    {0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22,
     0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33, 0x52, 0xF0, 0x15, 0x62, 0x72, 0xD1,
     0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18, 0x19, 0x1A, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x35, 0x36,
     0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
     0x59, 0x5A, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A,
     0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A,
     0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA,
     0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA,
     0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA}};
constexpr std::array<const CodeLengths*, 2> kDc = {&kLumaDc, &kChromaDc}, kAc = {&kLumaAc, &kChromaAc};

constexpr uint8_t kStart = 0xD8, kEnd = 0xD9, kQuantisation = 0xDB, kFrame = 0xC0, kHuffman = 0xC4, kScan = 0xDA;
constexpr uint8_t kSixteenZeroes = 0xF0, kEndOfBlock = 0;
constexpr int kDcBitsMax = 11, kAcBitsMax = 10;  // of a baseline scan's values (T.81, F.1.2)
constexpr int kSide = static_cast<int>(kBlockSide);
// A code has at most 16 bits, and a byte 0xFF takes two.
constexpr size_t kBlockBytesMax = (kBlockSamples * (16 + kDcBitsMax) + 7) / 8 * 2;
constexpr size_t kMcuBytesMax = kMcuBlocksMax * kBlockBytesMax + 2 * sizeof(uint64_t);

int parts(int whole, int part) { return (whole + part - 1) / part; }

// T.81, annex C: codes of a length are consecutive numbers, and longer ones go on behind them.
template <typename Codes>
Codes codes_of(const CodeLengths& lengths) {
  Codes codes{};
  uint32_t code = 0;
  size_t at = 0;
  for (size_t length = 1; length < lengths.counts.size(); ++length, code <<= 1)
    for (int i = 0; i < lengths.counts[length]; ++i)
      codes[lengths.symbols[at++]] = {static_cast<uint16_t>(code++), static_cast<uint8_t>(length)};
  return codes;
}

void append(std::vector<uint8_t>& to, uint8_t kind, const CodeLengths& lengths) {
  to.push_back(kind);
  to.insert(to.end(), lengths.counts.begin() + 1, lengths.counts.end());
  size_t symbols = 0;
  for (const uint8_t count : lengths.counts) symbols += count;
  to.insert(to.end(), lengths.symbols.begin(), lengths.symbols.begin() + static_cast<ptrdiff_t>(symbols));
}

void append(std::vector<uint8_t>& to, int number) {
  to.push_back(static_cast<uint8_t>(number >> 8));
  to.push_back(static_cast<uint8_t>(number));
}

}  // namespace

PlainJpegWriter::PlainJpegWriter() : in_group_(blocks_in_group()), places_(places_of(in_group_)) {
  for (size_t i = 0; i < kDc.size(); ++i) {
    dc_codes_[i] = codes_of<Codes>(*kDc[i]);
    ac_codes_[i] = codes_of<Codes>(*kAc[i]);
  }
}

void PlainJpegWriter::shrink(size_t bytes_max) {
  if (jpeg_.capacity() <= bytes_max) return;
  jpeg_ = {};
  for (Component& component : components_) component.rows = {};
}

// False: a picture of this size has other planes.
bool PlainJpegWriter::describe(const PackedPicture& picture, const Size& size) {
  const auto is_factor = [](int factor) { return factor == 1 || factor == 2; };
  if (in_group_ == 0 || !is_factor(size.chroma_across) || !is_factor(size.chroma_down)) return false;
  if (size.width < 1 || size.width > UINT16_MAX || size.height < 1 || size.height > UINT16_MAX) return false;
  for (size_t c = 0; c < picture.planes(); ++c) {
    const bool has_factors = c == 0 && picture.planes() > 1;
    components_[c].across = has_factors ? size.chroma_across : 1;
    components_[c].down = has_factors ? size.chroma_down : 1;
    components_[c].predicted = 0;
    const int width = c == 0 ? size.width : parts(size.width, size.chroma_across);
    const int height = c == 0 ? size.height : parts(size.height, size.chroma_down);
    const PackedPlane& plane = picture.plane(c);
    if (plane.blocks_across != parts(width, kSide) || plane.blocks_down != parts(height, kSide)) return false;
  }
  return true;
}

void PlainJpegWriter::write_segment(uint8_t marker, std::span<const uint8_t> content) {
  jpeg_.push_back(0xFF);
  jpeg_.push_back(marker);
  append(jpeg_, static_cast<int>(content.size() + 2));
  jpeg_.insert(jpeg_.end(), content.begin(), content.end());
}

// False: a step of quantisation has more than 8 bits.
bool PlainJpegWriter::write_head(const PackedPicture& picture, const Size& size) {
  jpeg_.assign({0xFF, kStart});
  const Places natural = places_of(1);
  const auto planes = static_cast<uint8_t>(picture.planes());
  std::vector<uint8_t> tables, codes, frame = {8}, scan = {planes};
  append(frame, size.height);
  append(frame, size.width);
  frame.push_back(planes);
  for (uint8_t c = 0; c < planes; ++c) {
    tables.push_back(c);
    for (size_t k = 0; k < kBlockSamples; ++k) {
      const uint16_t step = picture.plane(c).steps[natural[k]];
      if (step > UINT8_MAX) return false;
      tables.push_back(static_cast<uint8_t>(step));
    }
    const uint8_t id = c + 1, kind = c == 0 ? 0 : 1;
    const auto factors = static_cast<uint8_t>(components_[c].across << 4 | components_[c].down);
    frame.insert(frame.end(), {id, factors, c});
    scan.insert(scan.end(), {id, static_cast<uint8_t>(kind << 4 | kind)});
  }
  for (uint8_t kind = 0; kind < (planes > 1 ? 2 : 1); ++kind) {
    append(codes, kind, *kDc[kind]);
    append(codes, 0x10 | kind, *kAc[kind]);
  }
  scan.insert(scan.end(), {0, kBlockSamples - 1, 0});
  write_segment(kQuantisation, tables);
  write_segment(kFrame, frame);
  write_segment(kHuffman, codes);
  write_segment(kScan, scan);
  used_ = jpeg_.size();
  bits_ = 0;
  count_ = 0;
  return true;
}

bool PlainJpegWriter::read_row(const PackedPicture& picture, size_t component, int number, Row& row) {
  const auto packed = picture.row(component, number);
  if (!packed) return false;
  const auto blocks = static_cast<size_t>(picture.plane(component).blocks_across);
  const size_t samples = (blocks + in_group_ - 1) / in_group_ * group_samples(in_group_);
  row.memory.assign(samples + kGroupSlack, 0);
  row.last.resize(blocks);
  row.groups = first_group(row.memory.data());
  return unpack_blocks(*packed, 0, blocks, row.groups, row.last.data());
}

bool PlainJpegWriter::read_rows(const PackedPicture& picture, int mcu_row) {
  for (size_t c = 0; c < picture.planes(); ++c) {
    Component& component = components_[c];
    for (int y = 0; y < component.down; ++y) {
      const int number = mcu_row * component.down + y;
      Row& row = component.rows[static_cast<size_t>(y)];
      row.exists = number < picture.plane(c).blocks_down;
      if (row.exists && !read_row(picture, c, number, row)) return false;
    }
  }
  return true;
}

void PlainJpegWriter::put(uint32_t bits, int count) {
  bits_ = bits_ << count | bits;
  count_ += count;
  while (count_ >= 8) {
    count_ -= 8;
    const auto byte = static_cast<uint8_t>(bits_ >> count_);
    jpeg_[used_++] = byte;
    if (byte == 0xFF) jpeg_[used_++] = 0;
  }
}

// T.81, F.1.2.1: a negative value has the bits of the one below it.
void PlainJpegWriter::put_code(const Code& code, uint32_t value, int size) {
  put(uint32_t{code.bits} << size | (value & ((1u << size) - 1)), code.length + size);
}

bool PlainJpegWriter::write_block(const int16_t* block, bool has_ac, Component& component, bool is_luma) {
  const Codes &dc = dc_codes_[is_luma ? 0 : 1], &ac = ac_codes_[is_luma ? 0 : 1];
  const auto bits_of = [](int value) { return std::bit_width(static_cast<uint32_t>(std::abs(value))); };
  const int difference = block[0] - component.predicted, dc_size = bits_of(difference);
  if (dc_size > kDcBitsMax) return false;
  component.predicted = block[0];
  put_code(dc[static_cast<size_t>(dc_size)], static_cast<uint32_t>(difference - (difference < 0)), dc_size);
  int zeroes = 0;
  for (size_t k = 1; k < (has_ac ? kBlockSamples : 1); ++k) {
    const int value = block[places_[k]];
    if (value == 0) {
      zeroes++;
      continue;
    }
    for (; zeroes >= 16; zeroes -= 16) put_code(ac[kSixteenZeroes], 0, 0);
    const int size = bits_of(value);
    if (size > kAcBitsMax) return false;
    put_code(ac[static_cast<size_t>(zeroes << 4 | size)], static_cast<uint32_t>(value - (value < 0)), size);
    zeroes = 0;
  }
  if (zeroes > 0 || !has_ac) put_code(ac[kEndOfBlock], 0, 0);
  return true;
}

// A block that the picture lacks is the one before it in its component, with the DC coefficient alone.
bool PlainJpegWriter::write_mcu(const PackedPicture& picture, int column) {
  if (jpeg_.size() - used_ < kMcuBytesMax) jpeg_.resize(jpeg_.size() + jpeg_.size() / 2 + kMcuBytesMax);
  for (size_t c = 0; c < picture.planes(); ++c) {
    Component& component = components_[c];
    for (int i = 0; i < component.down * component.across; ++i) {
      const Row& row = component.rows[static_cast<size_t>(i / component.across)];
      const auto at = static_cast<size_t>(column * component.across + i % component.across);
      const auto lacking = static_cast<int16_t>(component.predicted);
      const bool exists = row.exists && at < row.last.size();
      const int16_t* const block = exists ? block_in(row.groups, at, in_group_) : &lacking;
      if (!write_block(block, exists && row.last[at] != 0, component, c == 0)) return false;
    }
  }
  return true;
}

// T.81, F.1.2.3: ones fill the last byte.
void PlainJpegWriter::end_scan() {
  if (count_ > 0) put((1u << (8 - count_)) - 1, 8 - count_);
  jpeg_[used_++] = 0xFF;
  jpeg_[used_++] = kEnd;
}

std::span<const uint8_t> PlainJpegWriter::write(const PackedPicture& picture, const Size& size) {
  if (!describe(picture, size) || !write_head(picture, size)) return {};
  const int mcus_across = parts(size.width, kSide * components_[0].across);
  const int mcus_down = parts(size.height, kSide * components_[0].down);
  for (int mcu_row = 0; mcu_row < mcus_down; ++mcu_row) {
    if (!read_rows(picture, mcu_row)) return {};
    for (int column = 0; column < mcus_across; ++column)
      if (!write_mcu(picture, column)) return {};
  }
  if (jpeg_.size() - used_ < kMcuBytesMax) jpeg_.resize(used_ + kMcuBytesMax);
  end_scan();
  return std::span(jpeg_).first(used_);
}

}  // namespace spdld::image::baseline
