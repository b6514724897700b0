#include "daemon/source/tables/row_places.h"

#include <cstring>

namespace spdld::source {
namespace {

template <typename T>
void append(std::vector<uint8_t>& bytes, uint64_t value) {
  const auto narrow = static_cast<T>(value);
  bytes.resize(bytes.size() + sizeof narrow);
  std::memcpy(bytes.data() + bytes.size() - sizeof narrow, &narrow, sizeof narrow);
}

template <typename T>
uint64_t number_at(const uint8_t* bytes, uint64_t number) {
  T value;
  std::memcpy(&value, bytes + number * sizeof value, sizeof value);
  return value;
}

// The place of a row that begins `between` bytes behind the row before it.
template <typename Length>
RowPlaces::Place behind(uint64_t offset, const uint8_t* lengths, uint64_t row, uint64_t between) {
  for (uint64_t i = 0; i < row; ++i) offset += number_at<Length>(lengths, i) + between;
  return {offset, static_cast<uint32_t>(number_at<Length>(lengths, row))};
}

}  // namespace

RowPlaces::Form RowPlaces::form_of_tail() const {
  bool is_short = tail_.back().length <= UINT16_MAX;
  for (uint64_t i = 0; i + 1 < kStep; ++i) {
    if (tail_[i + 1].offset != tail_[i].offset + tail_[i].length + between_) return Form::kFree;
    is_short &= tail_[i].length <= UINT16_MAX;
  }
  return is_short ? Form::kShort : Form::kLong;
}

void RowPlaces::pack() {
  if (blocks_.empty()) between_ = tail_[1].offset - tail_[0].offset - tail_[0].length;
  const Form form = form_of_tail();
  blocks_.push_back({tail_[0].offset, bytes_.size(), static_cast<uint64_t>(form)});
  if (form == Form::kFree)
    for (const Place& place : tail_) append<uint64_t>(bytes_, place.offset);
  for (const Place& place : tail_)
    form == Form::kShort ? append<uint16_t>(bytes_, place.length) : append<uint32_t>(bytes_, place.length);
}

RowPlaces::Place RowPlaces::packed(uint64_t row) const {
  const Block& block = blocks_[row / kStep];
  const uint8_t* const bytes = bytes_.data() + block.start;
  const uint64_t number = row % kStep;
  switch (static_cast<Form>(block.form)) {
    case Form::kShort:
      return behind<uint16_t>(block.offset, bytes, number, between_);
    case Form::kLong:
      return behind<uint32_t>(block.offset, bytes, number, between_);
    case Form::kFree:
      break;
  }
  return {number_at<uint64_t>(bytes, number),
          static_cast<uint32_t>(number_at<uint32_t>(bytes + kStep * sizeof(uint64_t), number))};
}

}  // namespace spdld::source
