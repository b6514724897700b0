// The place of bytes: a range of a local file or of an object in a remote store. A value that borrows its texts.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/store/object.h"

namespace spdld::store {

class Packing;
class Store;

// The object is named by `folder` followed by `path`. Both live as long as what gave the locator, and `path` ends in
// NUL. They are apart so that a million paths don't each hold the folder's name.

// The maker of items of a data set in user code: there are no bytes before the item is made.
struct Maker {
  std::string_view source;  // its name (config::SourceSpec::name); empty: it is the only one
};

struct Locator {
  std::string_view path;  // empty: there are no such bytes
  uint64_t offset = 0;
  int64_t length = -1;           // -1: to the end of the object
  std::string_view folder = {};  // ends in '/', or is empty
  // Where the bytes are a part of longer ones: the bytes that the object had when the parts were counted. An object of
  // another size is bad content. 0: not known.
  uint64_t object_bytes = 0;
  int16_t followed_by = -1;  // a piece that is gathered: this byte follows it; -1: none does
  // Of an object that is a column of values: `offset` is the number of the value that is meant, whose length is not
  // known.
  bool is_value = false;
  // The store that has the object; null: it is a local file.
  Store* store = nullptr;
  // Of the object or the local file as it was listed. One of another identity is bad content. {}: not known, as of an
  // object with a size of 0.
  Identity identity = {};
  // Not null: the bytes hold the value that is meant, which `packing` takes out of them (packing.h), as value number
  // `packed`.
  const Packing* packing = nullptr;
  uint32_t packed = 0;
  // Not null: what is meant is made and not read, and `path` is empty. It is taken out of the record of the maker's
  // item number `offset`.
  const Maker* maker = nullptr;
};

}  // namespace spdld::store
