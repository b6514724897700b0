// The keys of a pipeline that count in the fingerprint of its run, each with a digest of its value, as one text
// (PROTOCOL.md, "Digests of keys"): a state holds the text, so that a sentence can name the keys that differ. The text
// is not trusted. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/fingerprint.h"

namespace spdld::proto {

inline constexpr size_t kKeyDigestsMax = 512;    // of one text
inline constexpr size_t kKeyPathBytesMax = 256;  // of one key

struct KeyDigest {
  // The steps to the key with a '/' between them: "output/image/ops/crop/size". A step is made of letters, digits, "_",
  // ".", "-", "[" and "]".
  std::string path;
  uint64_t digest = 0;
  friend bool operator==(const KeyDigest&, const KeyDigest&) = default;
};

// `keys`: in rising order of their paths, each once. None: they are more than one text may hold.
std::optional<std::string> write_key_digests(const std::vector<KeyDigest>& keys);
// None: no write_key_digests() gave this text.
std::optional<std::vector<KeyDigest>> read_key_digests(std::string_view text);

// The text behind the clause of a difference: " (seed has another value)", with the keys that have other values
// here, that are new, and that are gone. Where the data alone differs, it says that no key does. Empty: the texts don't
// tell, because one of them is empty, or not of the form. `mine`, `other`: the texts of here and of the state.
std::string key_note(const FingerprintDifference& difference, std::string_view mine, std::string_view other);

}  // namespace spdld::proto
