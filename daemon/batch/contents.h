// The contents of a slot: the lengths of a batch's samples, where samples differ in length, and the shapes that follow.
//
// A filler that makes such a batch calls clear(), writes each sample at Layout::sample_at() and notes its length, and
// calls pack() before the batch is published. Where nothing varies, clear() and pack() do nothing, allocate nothing,
// and the batch looks as Layout::views() says. One thread at a time; different threads may note the lengths of
// different samples.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/batch/layout.h"
#include "daemon/memory/slot_memory.h"

namespace spdld::batch {

struct Contents {
  std::vector<TensorView> views = {};  // in the layout's order; empty: as Layout::views() says
  uint32_t shape = 0;                  // of the batch, by its number: of the tensors that have shapes
  std::vector<uint32_t> lengths = {};  // of Layout::varying()[k] and sample i: at k * batch size + i
  std::span<uint32_t> lengths_of(const Layout& layout, size_t k) {
    return std::span(lengths).subspan(k * layout.batch_size(), layout.batch_size());
  }
  std::span<const uint32_t> lengths_of(const Layout& layout, size_t k) const {
    return std::span(lengths).subspan(k * layout.batch_size(), layout.batch_size());
  }
};

inline std::span<const TensorView> views_of(const Layout& layout, const Contents& contents) {
  return contents.views.empty() ? layout.views() : std::span<const TensorView>(contents.views);
}

// All lengths are 0 afterwards. `shape`: of the batch that is begun.
void clear(const Layout& layout, Contents& contents, uint32_t shape = 0);

// Sets the views of a batch of `valid` samples from its lengths. Padded tensors are as long as their longest row.
// `is_dense`: rows of padded tensors lie one after the other; else each row lies at its sample's place.
void set_views(const Layout& layout, Contents& contents, uint64_t valid, bool is_dense);

// Moves samples towards the slot's start, into the places of the absent ones before them, with their lengths. `absent`:
// ascending, of `count` samples. Precondition: the tensors that describe others are still to be written.
void close_gaps(const Layout& layout, Contents& contents, uint8_t* slot, uint64_t count,
                std::span<const uint32_t> absent);

// Moves the samples of tensors that vary together, fills padding in, and writes offsets, lengths and masks. `slot`: the
// memory where the samples were written. Precondition: no length is above Layout::length_max().
void pack(const Layout& layout, Contents& contents, uint8_t* slot, uint64_t valid);

// Calls `write` for each tensor that describes another one, with its place in the slot and its bytes, which are valid
// during the call. The views must be set.
using Write = std::function<void(uint64_t offset, std::span<const uint8_t> bytes)>;
void write_parts(const Layout& layout, const Contents& contents, uint64_t valid, const Write& write);

// Appends `places` places of padding of a padded tensor.
void add_padding(const Layout& layout, size_t tensor, uint64_t places, std::vector<uint8_t>& bytes);

// The parts of a slot that count: from each tensor's first byte to its last. Parts that are close to one another are
// one part, because a copy's start costs more than a few bytes.
struct Ranges {
  std::array<memory::Range, kTensorsMax> ranges = {};
  size_t count = 0;
  std::span<const memory::Range> list() const { return {ranges.data(), count}; }
};
Ranges ranges_of(const Layout& layout, const Contents& contents, uint64_t valid);

}  // namespace spdld::batch
