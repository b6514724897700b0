#include "daemon/media/image/codecs/baseline/packed_picture.h"

#include <algorithm>

namespace spdld::image::baseline {
namespace {

constexpr size_t kPlaneBytes = 2 * sizeof(uint32_t) + kBlockSamples * sizeof(uint16_t);
constexpr int kBlocksMax = (1 << 16) / static_cast<int>(kBlockSide);  // across and down

template <typename Number>
void put(Number number, uint8_t* to) {
  for (size_t i = 0; i < sizeof number; ++i) to[i] = static_cast<uint8_t>(static_cast<uint64_t>(number) >> 8 * i);
}

template <typename Number>
void append(Number number, std::vector<uint8_t>& to) {
  to.resize(to.size() + sizeof number);
  put(number, to.data() + to.size() - sizeof number);
}

template <typename Number = uint32_t>
Number number_at(std::span<const uint8_t> bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = sizeof(Number); i-- > 0;) number = number << 8 | bytes[at + i];
  return static_cast<Number>(number);
}

}  // namespace

void PackedWriter::begin(std::span<const PackedPlane> planes, std::span<const int> lines) {
  count_ = planes.size();
  is_packable_ = blocks_in_group() != 0;
  picture_.clear();
  append(static_cast<uint32_t>(count_), picture_);
  size_t rows = 0;
  for (const PackedPlane& plane : planes) {
    append(static_cast<uint32_t>(plane.blocks_across), picture_);
    append(static_cast<uint32_t>(plane.blocks_down), picture_);
    for (const uint16_t step : plane.steps) append(step, picture_);
    rows += static_cast<size_t>(plane.blocks_down);
  }
  size_t table = picture_.size();
  picture_.resize(table + (rows + 1) * sizeof(uint32_t));
  for (size_t i = 0; i < count_; ++i) {
    Plane& plane = planes_[i];
    plane.blocks_across = static_cast<size_t>(planes[i].blocks_across);
    plane.blocks_down = static_cast<size_t>(planes[i].blocks_down);
    plane.table = table;
    plane.rows = 0;
    table += plane.blocks_down * sizeof(uint32_t);
    for (size_t line = 0; line < static_cast<size_t>(lines[i]); ++line)
      make_room(plane.lines[line], plane.blocks_across);
  }
}

// Rows grow and never shrink, so that nothing is written to them twice.
void PackedWriter::make_room(Row& row, size_t blocks) {
  const PackedRowParts parts(blocks);
  row.blocks = row.value_bytes = 0;
  const auto grow = [](std::vector<uint8_t>& part, size_t bytes) { part.resize(std::max(part.size(), bytes)); };
  grow(row.heads, parts.heads);
  grow(row.places, parts.places);
  grow(row.dcs, parts.dcs);
  grow(row.values, blocks * kPackedBytesMax + kPackedSlackBytes);
}

void PackedWriter::add_block(Row& row, const int16_t* block, size_t stride) {
  const auto head = pack_block(block, stride, row.values.data() + row.value_bytes);
  is_packable_ = is_packable_ && head;
  if (!head) return;
  if (row.blocks % kSpanBlocks == 0)
    put(static_cast<uint32_t>(row.value_bytes), row.places.data() + row.blocks / kSpanBlocks * sizeof(uint32_t));
  put(*head, row.heads.data() + row.blocks * sizeof(uint32_t));
  put(static_cast<uint16_t>(block[0]), row.dcs.data() + row.blocks * sizeof(uint16_t));
  row.value_bytes += value_bytes(*head);
  row.blocks++;
}

void PackedWriter::add(size_t plane_number, size_t line, const BlockRow& blocks) {
  Plane& plane = planes_[plane_number];
  Row& row = plane.lines[line];
  if (!is_packable_ || plane.rows == plane.blocks_down) return;
  const size_t in_group = blocks_in_group(), stride = in_group * kBlockSide;
  for (size_t i = 0; i < blocks.last.size() && is_packable_ && row.blocks < plane.blocks_across; ++i)
    add_block(row, block_in(blocks.groups, i, in_group), stride);
  if (row.blocks == plane.blocks_across) end_row(plane, row);
}

void PackedWriter::end_row(Plane& plane, Row& row) {
  put(static_cast<uint32_t>(picture_.size()), picture_.data() + plane.table + plane.rows * sizeof(uint32_t));
  const PackedRowParts parts(plane.blocks_across);
  const auto append_first = [this](const std::vector<uint8_t>& part, size_t bytes) {
    picture_.insert(picture_.end(), part.data(), part.data() + bytes);
  };
  append_first(row.heads, parts.heads);
  append_first(row.places, parts.places);
  append_first(row.dcs, parts.dcs);
  append_first(row.values, row.value_bytes);
  is_packable_ = is_packable_ && picture_.size() < UINT32_MAX;
  row.blocks = row.value_bytes = 0;
  plane.rows++;
}

bool PackedWriter::finish() {
  for (size_t i = 0; i < count_; ++i) is_packable_ = is_packable_ && planes_[i].rows == planes_[i].blocks_down;
  if (!is_packable_ || count_ == 0) return false;
  const Plane& last = planes_[count_ - 1];
  put(static_cast<uint32_t>(picture_.size()), picture_.data() + last.table + last.blocks_down * sizeof(uint32_t));
  picture_.resize(picture_.size() + kPackedSlackBytes);
  return true;
}

void PackedWriter::forget() {
  count_ = 0;
  is_packable_ = false;
  if (picture_.capacity() > kKeptMax) picture_ = {};
}

std::optional<PackedPicture> PackedPicture::view(std::span<const uint8_t> bytes) {
  PackedPicture picture;
  if (bytes.size() < sizeof(uint32_t)) return std::nullopt;
  picture.count_ = number_at(bytes, 0);
  if (picture.count_ != 1 && picture.count_ != kComponentsMax) return std::nullopt;
  size_t at = sizeof(uint32_t), rows = 0;
  if (bytes.size() < at + picture.count_ * kPlaneBytes) return std::nullopt;
  for (size_t i = 0; i < picture.count_; ++i) {
    PackedPlane& plane = picture.planes_[i];
    const uint32_t across = number_at(bytes, at), down = number_at(bytes, at + sizeof(uint32_t));
    if (across < 1 || across > kBlocksMax || down < 1 || down > kBlocksMax) return std::nullopt;
    plane.blocks_across = static_cast<int>(across);
    plane.blocks_down = static_cast<int>(down);
    at += 2 * sizeof(uint32_t);
    for (uint16_t& step : plane.steps) {
      step = number_at<uint16_t>(bytes, at);
      at += sizeof step;
    }
    picture.tables_[i] = rows;
    rows += down;
  }
  for (size_t i = 0; i < picture.count_; ++i) picture.tables_[i] = at + picture.tables_[i] * sizeof(uint32_t);
  if (bytes.size() < at + (rows + 1) * sizeof(uint32_t) + kPackedSlackBytes) return std::nullopt;
  picture.bytes_ = bytes;
  return picture;
}

// Others' rows may lie between a row and the end of its values, which so is no more than a bound.
std::optional<PackedRow> PackedPicture::row(size_t plane, int number) const {
  const PackedRowParts parts(static_cast<size_t>(planes_[plane].blocks_across));
  const size_t begin = number_at(bytes_, tables_[plane] + static_cast<size_t>(number) * sizeof(uint32_t));
  const size_t end = bytes_.size() - kPackedSlackBytes;
  if (begin > end || parts.bytes() > end - begin) return std::nullopt;
  const auto row = bytes_.subspan(begin, end - begin);
  return PackedRow{row.first(parts.heads), row.subspan(parts.heads, parts.places),
                   row.subspan(parts.heads + parts.places, parts.dcs), row.subspan(parts.bytes())};
}

PackedReader::PackedReader() : in_group_(blocks_in_group()) {
  if (in_group_ == 0) return;
  coefficients_.resize(kChunkBlocks / in_group_ * group_samples(in_group_) + kGroupSlack);
  groups_ = first_group(coefficients_.data());
}

bool PackedReader::read(const PackedPicture& picture, size_t plane, int row_number, int first, int end,
                        const std::array<uint8_t*, kBlockSide>& rows) {
  const auto row = picture.row(plane, row_number);
  if (in_group_ == 0 || !row) return false;
  const PackedPlane& of = picture.plane(plane);
  const int step = std::max<int>(of.steps[0], 1), least = kDcMin / step, most = kDcMax / step;
  for (int from = first; from < end; from += kChunkBlocks) {
    const int to = std::min(from + kChunkBlocks, end);
    const auto count = static_cast<size_t>(to - from);
    bool is_sound = unpack_blocks(*row, static_cast<size_t>(from), static_cast<size_t>(to), groups_, last_.data());
    for (size_t i = 0; i < count && is_sound; ++i) {
      const int dc = *block_in(groups_, i, in_group_);
      is_sound = dc >= least && dc <= most;
    }
    BlockRow blocks{groups_, {last_.data(), count}, of.steps, {}};
    for (size_t line = 0; line < kBlockSide; ++line)
      blocks.rows[line] = rows[line] + static_cast<ptrdiff_t>(from) * static_cast<ptrdiff_t>(kBlockSide);
    if (is_sound && transform(blocks)) continue;
    std::fill(coefficients_.begin(), coefficients_.end(), int16_t{0});
    return false;
  }
  return true;
}

}  // namespace spdld::image::baseline
