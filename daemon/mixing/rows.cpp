#include "daemon/mixing/rows.h"

#include <bit>
#include <stdexcept>
#include <string>

#include "daemon/mixing/halves.h"

namespace spdld::mixing {
namespace {

// Bits of a number as they stand in memory.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

float read(float value) { return value; }
double read(double value) { return value; }
float read(uint8_t value) { return static_cast<float>(value); }
float read(Bfloat value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

// The exponent moves from a bias of 15 to one of 127 by a product, which also serves numbers below the least normal
// one.
float read(Half value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const float magnitude = std::bit_cast<float>((value.bits & 0x7FFFu) << 13) * 0x1p112f;
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t finite_or_not = bits >= 0x47800000u ? bits | 0x7F800000u : bits;
  return std::bit_cast<float>(finite_or_not | sign);
}

void write(float value, float& to) { to = value; }
void write(double value, double& to) { to = value; }
void write(float value, uint8_t& to) { to = static_cast<uint8_t>(static_cast<int32_t>(value + 0.5f)); }

void write(float value, Bfloat& to) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  to.bits = static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}

// Below the least normal half, adding 0.5 rounds to a multiple of the least half.
void write(float value, Half& to) {
  const uint32_t all = std::bit_cast<uint32_t>(value);
  const uint32_t bits = all & 0x7FFFFFFFu;
  const uint32_t normal = (bits - (112u << 23) + 0xFFFu + ((bits >> 13) & 1u)) >> 13;
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  uint32_t half = bits < (113u << 23) ? small : normal;
  half = bits >= 0x477FF000u ? 0x7C00u : half;  // from 65520 on
  half = bits > 0x7F800000u ? 0x7E00u : half;
  to.bits = static_cast<uint16_t>(half | ((all >> 16) & 0x8000u));
}

template <typename Element, typename Number = float>
void mix_elements(double lam, size_t elements, uint8_t* own_row, const uint8_t* partner_row) {
  // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
  auto* __restrict own = reinterpret_cast<Element*>(own_row);
  const auto* __restrict partner = reinterpret_cast<const Element*>(partner_row);
  const Number part = static_cast<Number>(lam), rest = static_cast<Number>(1.0 - lam);
  for (size_t i = 0; i < elements; i++) {
    const Number mixed = read(partner[i]) * rest + read(own[i]) * part;
    write(mixed, own[i]);
  }
}

}  // namespace

void mix_rows(config::DType dtype, double lam, size_t elements, uint8_t* own, const uint8_t* partner) {
  switch (dtype) {
    case config::DType::kUint8:
      return mix_elements<uint8_t>(lam, elements, own, partner);
    case config::DType::kFloat16: {
      const size_t done = mix_halves(lam, elements, own, partner);
      return mix_elements<Half>(lam, elements - done, own + done * sizeof(Half), partner + done * sizeof(Half));
    }
    case config::DType::kBfloat16:
      return mix_elements<Bfloat>(lam, elements, own, partner);
    case config::DType::kFloat32:
      return mix_elements<float>(lam, elements, own, partner);
    case config::DType::kFloat64:
      return mix_elements<double, double>(lam, elements, own, partner);
    default:
      throw std::logic_error("numbers of this type can't be mixed: " + std::string(config::dtype_name(dtype)));
  }
}

}  // namespace spdld::mixing
