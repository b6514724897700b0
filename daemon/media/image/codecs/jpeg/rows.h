// Rows as libjpeg takes them from its memory manager: a table of pointers to rows that follow one another. For the
// methods of jpeg_memory_mgr, which leave by longjmp where `take` does; nothing here has a destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <type_traits>

#include "daemon/media/image/codecs/arena.h"

namespace spdld::image {

using TakeMemory = void*(j_common_ptr common, int pool, size_t bytes);

template <typename Row>
Row* take_table(TakeMemory& take, j_common_ptr common, int pool, size_t row_bytes, JDIMENSION count) {
  using Element = std::remove_pointer_t<Row>;
  auto* table = static_cast<Row*>(take(common, pool, size_t{count} * sizeof(Row)));
  auto* first = static_cast<uint8_t*>(take(common, pool, row_bytes * count));
  for (JDIMENSION i = 0; i < count; ++i) table[i] = reinterpret_cast<Element*>(first + row_bytes * i);
  return table;
}

// Each row is aligned for SIMD.
inline JSAMPARRAY take_sample_rows(TakeMemory& take, j_common_ptr common, int pool, JDIMENSION samples,
                                   JDIMENSION count) {
  const size_t row_bytes = (size_t{samples} + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
  return take_table<JSAMPROW>(take, common, pool, row_bytes, count);
}

inline JBLOCKARRAY take_block_rows(TakeMemory& take, j_common_ptr common, int pool, JDIMENSION blocks,
                                   JDIMENSION count) {
  return take_table<JBLOCKROW>(take, common, pool, size_t{blocks} * sizeof(JBLOCK), count);
}

}  // namespace spdld::image
