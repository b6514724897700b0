// An entry of the cache: its form, the key of its shelf, and the place where it lies, in memory or on disk. Plain
// values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "daemon/store/object.h"

namespace spdld::cache {

// The form of one entry.
enum class Form : uint8_t {
  kEncoded,  // bytes as fetched
  kPrepared  // the form that its shelf's key names, which the samples' medium makes of them, such as a picture's planes
};

// The key of a shelf's samples. Two pipelines with the same key share the shelf.
struct ShelfKey {
  std::string uri;          // of the source
  std::string fingerprint;  // of the listing
  std::string field;        // its name
  // The prepared form that its entries may have, with the versions of all that decides its bytes ("planes 1,
  // libjpeg-turbo 2.1.5"); empty: all entries are bytes as fetched.
  std::string representation = {};
  Form form() const { return representation.empty() ? Form::kEncoded : Form::kPrepared; }
  friend auto operator<=>(const ShelfKey&, const ShelfKey&) = default;
};
// The place of one sample's entry.
struct Found {
  enum class Where : uint8_t { kNowhere, kMemory, kDisk } where = Where::kNowhere;
  // Whether the file was checked since the shelf was opened last. Else the entry may be used only after the file was
  // found to still have `identity`, and confirm() was called.
  bool confirmed = false;
  Form form = Form::kEncoded;
  store::Identity identity;
  const uint8_t* memory = nullptr;  // kMemory: aligned to 64 bytes
  uint64_t bytes = 0;
  int fd = -1;  // kDisk: borrowed, for as long as the shelf is held
  uint64_t offset = 0;
};

}  // namespace spdld::cache
