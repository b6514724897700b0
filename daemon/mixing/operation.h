// The code of the operations on batches ([batch] ops): what each draws for a sample, and how it mixes a row. It knows
// neither batches nor pipelines: the caller chooses the partners. Constant after construction; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/batch_operation.h"
#include "daemon/base/box_format.h"
#include "daemon/base/random.h"

namespace spdld::mixing {

// Pixels [left, right) of the rows [top, bottom).
struct Box {
  uint64_t left = 0, top = 0, right = 0, bottom = 0;
};

// How one sample is mixed with its partners.
struct Mix {
  double lam = 1;         // the part of the sample's own label
  Box box = {};           // of an operation that has boxes: the part of the picture that is the partner's
  uint64_t x = 0, y = 0;  // of a mosaic: the pixel of the picture at which its four pictures meet
  uint64_t seed = 0;      // of an operation that chooses among its partner's objects
  // Of a canvas that is warped: two rows (x, y, 1) from the canvas's middle to the picture.
  std::array<double, 6> map = {};
  // Where the sample's picture and its partners' lie in their borders, within the rows; right = 0: they have none.
  std::array<Box, 4> inside = {};
  std::span<uint8_t> canvas = {};  // memory of Operation::canvas_bytes() for mix()
  // Of an operation with masks: a byte for each pixel, which is not 0 where the partner's objects lie.
  std::span<const uint8_t> shade = {};
};

// The rows of a list that one sample has.
struct ListRows {
  const uint8_t* memory = nullptr;
  uint32_t count = 0;
};

// A row that is taken over: of the sample's own list (0) or of the list of one of its partners, from 1 on.
struct TakenRow {
  uint32_t from = 0, place = 0;
};

// The lists of a sample and of its partners, as they were.
struct ListSources {
  std::span<const ListRows> boxes;
  std::span<const ListRows> masks;  // of an operation that asks for them

  // Of a row that is taken over; null: the operation does not ask for masks of `bytes` bytes each.
  const uint8_t* mask_of(const TakenRow& row, uint64_t bytes) const {
    return masks.empty() ? nullptr : masks[row.from].memory + bytes * row.place;
  }
};

// The part of an operation that takes over boxes on its picture, and the lists that keep their rows.
class Lists {
 public:
  virtual ~Lists() = default;
  // Adds the rows that are taken over to `taken`, at most `most` of them. `shade` is scratch, of a byte for each pixel.
  virtual void choose(const Mix& mix, const ListSources& sources, uint64_t most, std::span<uint8_t> shade,
                      std::vector<TakenRow>& taken) const = 0;
  // Writes Mix::shade of a sample with these rows, for an operation that asks for masks.
  virtual void cast(const ListSources&, std::span<const TakenRow>, std::span<uint8_t>) const {}
  // Writes a box to where it comes to lie. `mask`: of the same row, where the operation asks for masks.
  virtual void write_box(const Mix& mix, uint32_t from, const uint8_t* box, const uint8_t* mask,
                         uint8_t* out) const = 0;
  // Writes the mask of an object, in the size of the picture, to where it comes to lie.
  virtual void write_mask(const Mix& mix, uint32_t from, const uint8_t* mask, uint8_t* out) const = 0;
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual Mix draw(const Draws& draws) const = 0;
  // Mixes the partners' rows of the operation's image `image` (by its place in `images`) into the sample's own row.
  // There are as many as the operation's type says.
  virtual void mix(const Mix& mix, size_t image, uint8_t* own, std::span<const uint8_t* const> partners) const = 0;
  // Of the memory that mix() needs beside the rows.
  virtual uint64_t canvas_bytes() const { return 0; }
  // Null: it has no lists.
  virtual const Lists* lists() const { return nullptr; }
};

struct PlacedOperation {
  const config::BatchOperationSpec& spec;
  std::vector<config::Signature> images;  // the ends of spec.images
  BoxFormat boxes = BoxFormat::kXyxy;     // of the list of boxes, where the operation has one
};
// Precondition: config/checks/load.h has accepted the operation.
std::unique_ptr<Operation> make_operation(const PlacedOperation& placed);

}  // namespace spdld::mixing
