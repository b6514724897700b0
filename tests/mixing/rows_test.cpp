#include "daemon/mixing/rows.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

namespace spdld::rows_test {

using config::DType;

namespace {

template <typename T>
std::vector<T> mixed(DType dtype, double lam, std::vector<T> own, const std::vector<T>& partner) {
  mixing::mix_rows(dtype, lam, own.size(), reinterpret_cast<uint8_t*>(own.data()),
                   reinterpret_cast<const uint8_t*>(partner.data()));
  return own;
}

// By the definition of the format, in doubles.
double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                           : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                            : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("uint8 is mixed in float32 and rounded to nearest") {
  CHECK(mixed<uint8_t>(DType::kUint8, 0.25, {0, 255, 100, 1}, {255, 0, 101, 3}) ==
        std::vector<uint8_t>{191, 64, 101, 3});  // 191.25, 63.75, 100.75, 2.5
  CHECK(mixed<uint8_t>(DType::kUint8, 1, {0, 255, 7}, {255, 0, 9}) == std::vector<uint8_t>{0, 255, 7});
}

TEST_CASE("float32 and float64 are each product and the sum, rounded") {
  std::vector<float> own, partner, wanted;
  std::vector<double> wide, wide_partner, wide_wanted;
  const double lam = 0.3141592653589793;
  for (int i = 0; i < 1000; i++) {
    own.push_back(std::sin(static_cast<float>(i)));
    partner.push_back(std::cos(static_cast<float>(i)));
    const volatile float a = own.back() * static_cast<float>(lam);
    const volatile float b = partner.back() * static_cast<float>(1 - lam);
    wanted.push_back(a + b);
    wide.push_back(own.back()), wide_partner.push_back(partner.back());
    const volatile double c = wide.back() * lam, d = wide_partner.back() * (1 - lam);
    wide_wanted.push_back(c + d);
  }
  CHECK(mixed(DType::kFloat32, lam, own, partner) == wanted);
  CHECK(mixed(DType::kFloat64, lam, wide, wide_partner) == wide_wanted);
}

TEST_CASE("every half stays itself with lam 1, and halves of halves are the nearest halves") {
  std::vector<uint16_t> all;
  for (uint32_t bits = 0; bits < 0x10000; bits++)
    if ((bits & 0x7FFF) < 0x7C00) all.push_back(static_cast<uint16_t>(bits));
  const std::vector<uint16_t> zeros(all.size());
  const auto same = mixed(DType::kFloat16, 1, all, zeros);
  const auto halved = mixed(DType::kFloat16, 0.5, all, zeros);
  for (size_t i = 0; i < all.size(); i++) {
    REQUIRE(half_value(same[i]) == half_value(all[i]));
    const double wanted = half_value(all[i]) / 2, error = std::abs(half_value(halved[i]) - wanted);
    REQUIRE(error <= std::ldexp(1, -25));  // of the smallest ones; all others are exact
    if (std::abs(wanted) >= std::ldexp(1, -14)) REQUIRE(error == 0);
  }
}

TEST_CASE("a row of halves has the same bytes as its elements one by one") {
  std::vector<uint16_t> own, partner;
  for (uint32_t i = 0; i < 5003; i++) {
    own.push_back(static_cast<uint16_t>(i * 40503u & 0xFBFFu));  // finite: one bit of the exponent is missing
    partner.push_back(static_cast<uint16_t>(i * 60493u >> 3 & 0xFBFFu));
  }
  for (const double lam : {0.0, 0.3141592653589793, 0.5, 0.999, 1.0}) {
    const auto whole = mixed(DType::kFloat16, lam, own, partner);
    for (size_t i = 0; i < own.size(); i++) {
      INFO("lam " << lam << ", " << own[i] << " with " << partner[i]);
      REQUIRE(mixed<uint16_t>(DType::kFloat16, lam, {own[i]}, {partner[i]}).front() == whole[i]);
    }
  }
}

TEST_CASE("bfloat16 is rounded to nearest, ties to even") {
  const auto bits = [](float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); };
  // 1 and 1 + 2^-7 are neighbours: their middle is a tie.
  CHECK(mixed<uint16_t>(DType::kBfloat16, 0.5, {bits(1), bits(1.0078125f)}, {bits(1.0078125f), bits(1.015625f)}) ==
        std::vector<uint16_t>{bits(1), bits(1.015625f)});
  CHECK(mixed<uint16_t>(DType::kBfloat16, 0.25, {bits(4)}, {bits(-8)}) == std::vector<uint16_t>{bits(-5)});
}

TEST_CASE("a type that can't be mixed is no row of zeros") {
  std::vector<int64_t> row(2);
  CHECK_THROWS(mixing::mix_rows(DType::kInt64, 0.5, 2, reinterpret_cast<uint8_t*>(row.data()),
                                reinterpret_cast<const uint8_t*>(row.data())));
}

}  // namespace spdld::rows_test
