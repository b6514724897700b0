#define XXH_INLINE_ALL  // header only: no library to link
#include "daemon/source/fingerprint.h"

#include <xxhash.h>

#include <array>

#include "proto/hex.h"

namespace spdld::source {

struct Fingerprint::State {
  XXH3_state_t hash;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Fingerprint::~Fingerprint() = default;

void Fingerprint::add(std::string_view bytes) { XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size()); }

void Fingerprint::add_text(std::string_view text) {
  add_number(text.size());
  add(text);
}

void Fingerprint::add_number(uint64_t number) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  add({bytes.data(), bytes.size()});
}

std::string Fingerprint::digits() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->hash));
  std::string text;
  for (const unsigned char byte : canonical.digest) append_hex(text, byte);
  return text;
}

}  // namespace spdld::source
