#include "daemon/batch/contents.h"

#include <algorithm>
#include <cstring>

namespace spdld::batch {
namespace {

constexpr uint64_t kGapBytesMax = 64u << 10;  // between two parts that are copied as one

uint64_t longest_of(const TensorPlace& tensor, std::span<const uint32_t> lengths, uint64_t length_max) {
  const uint64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const uint64_t multiple = std::max<uint64_t>(1, tensor.padding->multiple);
  return std::min((longest + multiple - 1) / multiple * multiple, length_max);
}

uint64_t sum_of(std::span<const uint32_t> lengths) {
  uint64_t sum = 0;
  for (const uint32_t length : lengths) sum += length;
  return sum;
}

// The place in varying() of the tensor that `part` describes.
size_t place_of(const Layout& layout, const TensorPlace& part) {
  const auto varying = layout.varying();
  return static_cast<size_t>(std::find(varying.begin(), varying.end(), *part.of) - varying.begin());
}

template <typename Number>
void append_number(uint64_t number, std::vector<uint8_t>& bytes) {
  const auto value = static_cast<Number>(number);
  const auto* start = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), start, start + sizeof value);
}

void add_offsets(std::span<const uint32_t> lengths, std::vector<uint8_t>& bytes) {
  uint64_t end = 0;
  append_number<int64_t>(0, bytes);
  for (const uint32_t length : lengths) append_number<int64_t>(end += length, bytes);
}

void add_lengths(const TensorPlace& part, std::span<const uint32_t> lengths, std::vector<uint8_t>& bytes) {
  const bool is_wide = config::dtype_bytes(part.dtype) == sizeof(int64_t);
  for (const uint32_t length : lengths)
    is_wide ? append_number<int64_t>(length, bytes) : append_number<int32_t>(length, bytes);
}

// The mask's rows lie as its tensor's rows lie: with `stride` places from one to the next.
void add_mask(std::span<const uint32_t> lengths, uint64_t stride, std::vector<uint8_t>& bytes) {
  for (const uint32_t length : lengths) {
    bytes.insert(bytes.end(), length, 1);
    bytes.insert(bytes.end(), stride - length, 0);
  }
}

// From a tensor's first to its last byte that counts.
uint64_t bytes_of(const TensorPlace& tensor, const TensorView& view, uint64_t valid) {
  uint64_t rows = valid;
  if (tensor.role == Role::kOffsets) rows = valid + 1;
  if (tensor.role == Role::kValues) rows = view.shape[0];
  uint64_t elements = 1;
  for (uint32_t i = 0; i < view.rank; i++) {
    const uint64_t size = i == 0 ? rows : view.shape[i];
    if (size == 0) return 0;
    elements += (size - 1) * view.strides[i];
  }
  return elements * config::dtype_bytes(tensor.dtype);
}

void pack_values(const Layout& layout, size_t tensor, std::span<const uint32_t> lengths, uint8_t* slot) {
  const uint64_t value_bytes = layout.value_bytes(tensor);
  uint8_t* to = layout.sample_at(slot, tensor, 0);
  for (uint64_t i = 0; i < lengths.size(); i++) {
    const uint64_t bytes = lengths[i] * value_bytes;
    std::memmove(to, layout.sample_at(slot, tensor, i), bytes);
    to += bytes;
  }
}

void pack_rows(const Layout& layout, size_t tensor, std::span<const uint32_t> lengths, uint64_t longest,
               uint8_t* slot) {
  const uint64_t value_bytes = layout.value_bytes(tensor);
  std::vector<uint8_t> padding;
  for (uint64_t i = 0; i < lengths.size(); i++) {
    uint8_t* const row = layout.sample_at(slot, tensor, 0) + i * longest * value_bytes;
    const uint64_t bytes = lengths[i] * value_bytes;
    std::memmove(row, layout.sample_at(slot, tensor, i), bytes);
    padding.clear();
    add_padding(layout, tensor, longest - lengths[i], padding);
    std::copy(padding.begin(), padding.end(), row + bytes);
  }
}

}  // namespace

namespace {

// Of a full batch, before samples' lengths are known.
void begin_views(const Layout& layout, Contents& contents) {
  contents.views.assign(layout.views().begin(), layout.views().end());
  for (size_t i = 0; i < layout.tensors().size(); i++)
    if (!layout.tensors()[i].shapes.empty())
      contents.views[i] = dense_view(layout.tensors()[i], layout.batch_size(), contents.shape);
}

}  // namespace

void clear(const Layout& layout, Contents& contents, uint32_t shape) {
  contents.shape = shape;
  contents.views.clear();
  if (layout.has_shapes()) begin_views(layout, contents);
  contents.lengths.assign(layout.varying().size() * layout.batch_size(), 0);
}

void add_padding(const Layout& layout, size_t tensor, uint64_t places, std::vector<uint8_t>& bytes) {
  const TensorPlace& place = layout.tensors()[tensor];
  const std::vector<uint8_t>& element = place.padding->element;
  const size_t start = bytes.size();
  bytes.resize(start + places * layout.value_bytes(tensor));
  if (element.empty()) return;
  for (size_t at = start; at < bytes.size(); at += element.size())
    std::copy(element.begin(), element.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void set_views(const Layout& layout, Contents& contents, uint64_t valid, bool is_dense) {
  if (layout.varying().empty()) return;
  begin_views(layout, contents);
  for (size_t k = 0; k < layout.varying().size(); k++) {
    const size_t tensor = layout.varying()[k];
    const TensorPlace& place = layout.tensors()[tensor];
    const auto lengths = contents.lengths_of(layout, k).first(valid);
    TensorView& view = contents.views[tensor];
    if (place.role == Role::kValues) {
      view.shape[0] = sum_of(lengths);
      continue;
    }
    view.shape[0] = valid;
    view.shape[1] = longest_of(place, lengths, layout.length_max(tensor));
    if (is_dense) view.strides[0] = view.shape[1] * view.strides[1];
  }
  for (size_t i = 0; i < layout.tensors().size(); i++) {
    const TensorPlace& part = layout.tensors()[i];
    if (part.role != Role::kMask) continue;
    const TensorView& of = contents.views[*part.of];
    TensorView& mask = contents.views[i];
    mask.shape[0] = valid;
    mask.shape[1] = of.shape[1];
    mask.strides[0] = of.shape[1];  // a mask is written anew, so that it is always dense
  }
}

void write_parts(const Layout& layout, const Contents& contents, uint64_t valid, const Write& write) {
  std::vector<uint8_t> bytes;
  for (const TensorPlace& part : layout.tensors()) {
    if (!part.of) continue;
    const auto lengths = contents.lengths_of(layout, place_of(layout, part)).first(valid);
    bytes.clear();
    if (part.role == Role::kOffsets) add_offsets(lengths, bytes);
    if (part.role == Role::kLengths) add_lengths(part, lengths, bytes);
    if (part.role == Role::kMask) add_mask(lengths, contents.views[*part.of].shape[1], bytes);
    write(part.offset, bytes);
  }
}

namespace {

// Calls move(from, to, samples) for each stretch of present samples that has an absent one before it.
template <typename Move>
void for_each_moved(uint64_t count, std::span<const uint32_t> absent, Move move) {
  for (size_t i = 0; i < absent.size(); i++) {
    const uint64_t first = uint64_t{absent[i]} + 1;
    const uint64_t end = i + 1 < absent.size() ? absent[i + 1] : count;
    if (end > first) move(first, first - i - 1, end - first);
  }
}

}  // namespace

void close_gaps(const Layout& layout, Contents& contents, uint8_t* slot, uint64_t count,
                std::span<const uint32_t> absent) {
  if (absent.empty()) return;
  size_t k = 0;  // of the tensors that vary
  for (size_t tensor = 0; tensor < layout.tensors().size(); tensor++) {
    const TensorPlace& place = layout.tensors()[tensor];
    if (place.of) continue;
    const auto at = [&](uint64_t sample) { return layout.sample_at(slot, tensor, sample, contents.shape); };
    if (k == layout.varying().size() || layout.varying()[k] != tensor) {
      for_each_moved(count, absent, [&](uint64_t from, uint64_t to, uint64_t samples) {
        std::memmove(at(to), at(from), samples * layout.bytes_of(tensor, contents.shape));
      });
      continue;
    }
    const auto lengths = contents.lengths_of(layout, k++);
    for_each_moved(count, absent, [&](uint64_t from, uint64_t to, uint64_t samples) {
      for (uint64_t i = 0; i < samples; i++) {
        std::memmove(at(to + i), at(from + i), lengths[from + i] * layout.value_bytes(tensor));
        lengths[to + i] = lengths[from + i];
      }
    });
    const auto rest = lengths.subspan(count - absent.size(), absent.size());
    std::fill(rest.begin(), rest.end(), 0);
  }
}

void pack(const Layout& layout, Contents& contents, uint8_t* slot, uint64_t valid) {
  if (layout.varying().empty()) return;
  set_views(layout, contents, valid, true);
  for (size_t k = 0; k < layout.varying().size(); k++) {
    const size_t tensor = layout.varying()[k];
    const auto lengths = contents.lengths_of(layout, k).first(valid);
    if (layout.tensors()[tensor].role == Role::kValues)
      pack_values(layout, tensor, lengths, slot);
    else
      pack_rows(layout, tensor, lengths, contents.views[tensor].shape[1], slot);
  }
  write_parts(layout, contents, valid, [slot](uint64_t offset, std::span<const uint8_t> bytes) {
    std::copy(bytes.begin(), bytes.end(), slot + offset);
  });
}

Ranges ranges_of(const Layout& layout, const Contents& contents, uint64_t valid) {
  Ranges found;
  const auto views = views_of(layout, contents);
  for (size_t i = 0; i < views.size(); i++) {
    const uint64_t bytes = bytes_of(layout.tensors()[i], views[i], valid);
    if (bytes == 0) continue;
    const uint64_t from = views[i].offset;
    memory::Range* const last = found.count ? &found.ranges[found.count - 1] : nullptr;
    if (last && from - (last->from + last->bytes) <= kGapBytesMax)
      last->bytes = from + bytes - last->from;
    else
      found.ranges[found.count++] = {from, bytes};
  }
  return found;
}

}  // namespace spdld::batch
