#include "daemon/media/flac/subframes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/media/flac/subframes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Nothing here uses vectors by name. Each set of instructions has its own shifts, and the compiler's own vectors.
HWY_BEFORE_NAMESPACE();
namespace spdld::flac::HWY_NAMESPACE {
namespace {

constexpr unsigned kBitsAtOnce = 56;       // that are at hand after a refill
constexpr unsigned kParameterMax = 25;     // of a Rice code that is read at once: its values stay below 2^31
constexpr uint64_t kFoldedMax = 1u << 30;  // a residual twice, which has a sign in its lowest bit
constexpr size_t kOrderMax = 32, kOrderUnrolledMax = 12;

// The bits that come next, from the highest on. Behind the frame's end they are zeroes.
struct Bits {
  uint64_t next = 0;
  unsigned count = 0;           // of valid bits in `next`, at most 63
  const uint8_t* at = nullptr;  // where further bits come from
  const uint8_t* end = nullptr;

  HWY_INLINE void refill() {
    uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
    next |= bytes >> count;
    at += (63 - count) >> 3;
    count |= kBitsAtOnce;
  }
  HWY_INLINE void drop(unsigned bits) {
    next <<= bits;
    count -= bits;
  }
  // Precondition: bits <= 32.
  HWY_INLINE uint32_t take(unsigned bits) {
    if (bits == 0) return 0;
    refill();
    const uint64_t value = next >> (64 - bits);
    drop(bits);
    return static_cast<uint32_t>(value);
  }
  HWY_INLINE int32_t take_signed(unsigned bits) {
    if (bits == 0) return 0;
    return static_cast<int32_t>(take(bits) << (32 - bits)) >> (32 - bits);
  }
  HWY_INLINE int64_t left() const { return (end - at) * 8 + count; }
  HWY_INLINE bool has(uint64_t bits) const { return left() >= static_cast<int64_t>(bits); }
};

HWY_INLINE int32_t unfolded(uint32_t folded) { return static_cast<int32_t>(folded >> 1 ^ (0 - (folded & 1))); }
HWY_INLINE int32_t sum_of(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// The zeroes before the highest bit that is set. Of 0 more than there are bits at hand.
HWY_INLINE unsigned leading_zeroes(uint64_t bits) {
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  uint64_t count = 0;  // each processor with AVX2 has the instruction, but the compiler is not told of it
  asm("lzcnt %1, %0" : "=r"(count) : "r"(bits) : "cc");
  return static_cast<unsigned>(count);
#else
  return static_cast<unsigned>(__builtin_clzll(bits | 1));
#endif
}

struct Folded {
  bool is_good;
  uint32_t value;
  Bits behind;
};

// Any Rice code, whatever its length.
HWY_NOINLINE Folded read_long_code(Bits bits, unsigned parameter) {
  uint64_t quotient = 0;
  for (;;) {
    bits.refill();
    const auto zeroes = std::min(static_cast<unsigned>(std::countl_zero(bits.next)), kBitsAtOnce);
    quotient += zeroes;
    if (bits.left() < 0 || quotient << parameter >= kFoldedMax) return {false, 0, bits};
    bits.drop(std::min(zeroes + 1, kBitsAtOnce));
    if (zeroes < kBitsAtOnce) break;
  }
  const uint32_t rest = bits.take(parameter);
  const uint64_t value = quotient << parameter | rest;
  return {value < kFoldedMax, static_cast<uint32_t>(value), bits};
}

// A predictor gives the sample that stands at `at`, of its residual and of the samples before.
// A polynomial through the samples before (RFC 9639, 9.2.5), by its differences.
template <int kOrder>
class Polynomial {
 public:
  // Precondition: kOrder samples stand before `at`.
  explicit Polynomial(const int32_t* at) {
    std::array<int32_t, kOrder + 1> row{};
    for (int i = 0; i < kOrder; ++i) row[i] = at[i - kOrder];
    for (int order = 0; order < kOrder; ++order) {
      last_[order] = row[kOrder - 1 - order];
      for (int i = 0; i + 1 < kOrder - order; ++i) row[i] = sum_of(row[i + 1], -row[i]);
    }
  }
  HWY_INLINE int32_t next(int32_t residual, const int32_t* /*at*/) {
    int32_t sum = residual;
    for (int order = kOrder - 1; order >= 0; --order) sum = last_[order] = sum_of(last_[order], sum);
    return sum;
  }

 private:
  std::array<int32_t, kOrder + 1> last_;  // the last difference of each order
};

struct Coefficients {
  std::array<int64_t, kOrderMax> of;  // the newest sample's first
  unsigned order, shift;
};

// A sum of samples before, each with its coefficient (RFC 9639, 9.2.6).
template <int kOrder>
class Linear {
 public:
  // The coefficients are borrowed.
  Linear(const Coefficients& coefficients, const int32_t* at)
      : of_(coefficients.of.data()), shift_(coefficients.shift), last_(at[-1]) {}
  HWY_INLINE int32_t next(int32_t residual, const int32_t* at) {
    const int64_t* of = of_;
    asm("" : "+r"(of), "+r"(at));  // both are read from memory each time: there are too few registers to keep them in
    int64_t sum = 0;
    for (int i = kOrder - 1; i > 0; --i) sum += of[i] * at[-1 - i];
    sum += of[0] * last_;
    last_ = sum_of(residual, static_cast<int32_t>(sum >> shift_));
    return static_cast<int32_t>(last_);
  }

 private:
  const int64_t* of_;
  unsigned shift_;
  int64_t last_;  // the newest sample, which is not waited for in memory
};

// The same for any order.
class LongLinear {
 public:
  explicit LongLinear(const Coefficients& coefficients) : coefficients_(coefficients) {}
  HWY_INLINE int32_t next(int32_t residual, const int32_t* at) {
    int64_t sum = 0;
    for (unsigned i = 0; i < coefficients_.order; ++i) sum += coefficients_.of[i] * at[-1 - static_cast<int>(i)];
    return sum_of(residual, static_cast<int32_t>(sum >> coefficients_.shift));
  }

 private:
  Coefficients coefficients_;
};

class SubframeReader {
 public:
  SubframeReader(Bits bits, uint32_t samples) : bits_(bits), samples_(samples) {}

  bool run(int32_t* to, unsigned sample_bits) {
    if (bits_.take(1) != 0) return false;
    const unsigned type = bits_.take(6);
    const unsigned wasted = bits_.take(1) == 0 ? 0 : read_wasted(sample_bits);
    if (wasted >= sample_bits || !bits_.has(0)) return false;
    to_ = to;
    end_ = to + samples_;
    sample_bits_ = sample_bits - wasted;
    if (!read(type) || !bits_.has(0) || !is_within()) return false;
    if (wasted > 0) std::for_each(to_, end_, [wasted](int32_t& sample) { sample *= 1 << wasted; });
    return true;
  }
  const Bits& bits() const { return bits_; }

 private:
  unsigned read_wasted(unsigned most) {
    unsigned wasted = 1;
    while (wasted < most && bits_.take(1) == 0) ++wasted;
    return wasted;
  }

  bool read(unsigned type) {
    constexpr unsigned kPolynomials = 8, kLinear = 32;
    if (type == 0) return read_constant();
    if (type == 1) return read_samples(samples_);
    if (type >= kLinear) return read_linear(type - kLinear + 1);
    return type >= kPolynomials && read_polynomial(type - kPolynomials);
  }

  bool read_constant() {
    std::fill(to_, end_, bits_.take_signed(sample_bits_));
    return true;
  }

  // As they are.
  bool read_samples(uint32_t count) {
    if (count > samples_ || !bits_.has(uint64_t{count} * sample_bits_)) return false;
    for (uint32_t i = 0; i < count; ++i) to_[i] = bits_.take_signed(sample_bits_);
    return true;
  }

  bool read_polynomial(unsigned order) {
    if (order > 4 || !read_samples(order)) return false;
    int32_t* const at = to_ + order;
    switch (order) {
      case 0:
        return read_residual(Polynomial<0>(at), order);
      case 1:
        return read_residual(Polynomial<1>(at), order);
      case 2:
        return read_residual(Polynomial<2>(at), order);
      case 3:
        return read_residual(Polynomial<3>(at), order);
      default:
        return read_residual(Polynomial<4>(at), order);
    }
  }

  bool read_linear(unsigned order) {
    constexpr unsigned kReservedPrecision = 16;
    if (!read_samples(order)) return false;
    const unsigned precision = bits_.take(4) + 1;
    const int shift = bits_.take_signed(5);
    if (precision == kReservedPrecision || shift < 0 || !bits_.has(order * precision)) return false;
    Coefficients coefficients{{}, order, static_cast<unsigned>(shift)};
    for (unsigned i = 0; i < order; ++i) coefficients.of[i] = bits_.take_signed(precision);
    return read_linear_of<kOrderUnrolledMax>(coefficients);
  }
  template <unsigned kOrder>
  bool read_linear_of(const Coefficients& coefficients) {
    if constexpr (kOrder > 1)
      if (coefficients.order < kOrder) return read_linear_of<kOrder - 1>(coefficients);
    if (coefficients.order > kOrder) return read_residual(LongLinear(coefficients), coefficients.order);
    return read_residual(Linear<kOrder>(coefficients, to_ + kOrder), kOrder);
  }

  // RFC 9639, 9.2.7.
  template <typename Predictor>
  bool read_residual(Predictor predictor, unsigned order) {
    const unsigned method = bits_.take(2), partition_order = bits_.take(4);
    const uint32_t partition = samples_ >> partition_order;
    if (method > 1 || partition << partition_order != samples_ || partition < order) return false;
    const unsigned parameter_bits = 4 + method, escape = (1u << parameter_bits) - 1;
    int32_t* at = to_ + order;
    for (int32_t* to = to_ + partition; to <= end_; to += partition) {
      const unsigned parameter = bits_.take(parameter_bits);
      const bool is_read =
          parameter == escape ? read_plain(predictor, at, to) : read_codes(predictor, parameter, at, to);
      if (!is_read || !bits_.has(0)) return false;
      at = to;
    }
    return true;
  }

  // Residuals that are not coded.
  template <typename Predictor>
  bool read_plain(Predictor& predictor, int32_t* at, const int32_t* to) {
    const unsigned bits = bits_.take(5);
    if (!bits_.has(static_cast<uint64_t>(to - at) * bits)) return false;
    for (; at < to; ++at) *at = predictor.next(bits_.take_signed(bits), at);
    return true;
  }

  template <typename Predictor>
  bool read_codes(Predictor& kept, unsigned parameter, int32_t* at, const int32_t* to) {
    if (parameter > kParameterMax) return read_long_codes(kept, parameter, at, to);
    Bits bits = bits_;  // both stay in registers
    Predictor predictor = kept;
    const unsigned rest_bits = parameter + 1;
    const auto read = [&]() HWY_ATTR {
      // The highest bit that is set ends the quotient; the parameter's bits lie behind it.
      const unsigned quotient = leading_zeroes(bits.next), length = quotient + rest_bits;
      uint32_t folded = 0;
      if (length > bits.count) [[unlikely]] {
        const Folded code = read_long_code(bits, parameter);
        if (!code.is_good) return false;
        bits = code.behind;
        folded = code.value;
      } else {
        const uint64_t from_highest = bits.next << quotient;
        folded = static_cast<uint32_t>(from_highest >> (64 - rest_bits)) + ((quotient - 1) << parameter);
        bits.next = from_highest << rest_bits;
        bits.count -= length;
      }
      *at = predictor.next(unfolded(folded), at);
      ++at;
      return true;
    };
    while (to - at >= 2) {
      bits.refill();
      if (!read() || !read()) return false;
    }
    if (at < to) {
      bits.refill();
      if (!read()) return false;
    }
    bits_ = bits;
    kept = predictor;
    return true;
  }

  template <typename Predictor>
  bool read_long_codes(Predictor& predictor, unsigned parameter, int32_t* at, const int32_t* to) {
    for (; at < to; ++at) {
      const Folded code = read_long_code(bits_, parameter);
      if (!code.is_good) return false;
      bits_ = code.behind;
      *at = predictor.next(unfolded(code.value), at);
    }
    return true;
  }

  // Decoders differ in what they make of a sample of more than its bits.
  bool is_within() const {
    const uint32_t half = 1u << (sample_bits_ - 1);
    uint32_t beyond = 0;
    for (const int32_t* at = to_; at < end_; ++at) beyond |= static_cast<uint32_t>(*at) + half;
    return beyond >> sample_bits_ == 0;
  }

  Bits bits_;
  const uint32_t samples_;
  int32_t *to_ = nullptr, *end_ = nullptr;
  unsigned sample_bits_ = 0;
};

bool decode(std::span<const uint8_t> coded, const Planes& planes) {
  constexpr int64_t kCrcBits = 16;
  SubframeReader reader({.at = coded.data(), .end = coded.data() + coded.size()}, planes.samples);
  for (int channel = 0; channel < planes.channels; ++channel)
    if (!reader.run(planes.plane(channel), static_cast<unsigned>(planes.bits_of(channel)))) return false;
  const int64_t left = reader.bits().left() - kCrcBits;
  return left >= 0 && left < 8;
}

}  // namespace
}  // namespace spdld::flac::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::flac {
namespace {
HWY_EXPORT(decode);
}  // namespace

bool decode_subframes(std::span<const uint8_t> coded, const Planes& planes) {
  return HWY_DYNAMIC_DISPATCH(decode)(coded, planes);
}

}  // namespace spdld::flac
#endif
