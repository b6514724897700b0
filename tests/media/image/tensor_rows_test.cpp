// Every type and layout of tensor, on every instruction set, beside the formula.
#include "daemon/media/image/kernels/tensor_rows.h"

#include <hwy/targets.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/support/image_programs.h"

namespace spdld::tensor_rows_test {
namespace {

using config::DType;
using config::Layout;
using image::TensorFormat;

double of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double element(DType dtype, const uint8_t* tensor, size_t i) {
  uint16_t half = 0;
  float single = 0;
  switch (dtype) {
    case DType::kUint8:
      return tensor[i];
    case DType::kFloat32:
      return std::memcpy(&single, tensor + 4 * i, 4), single;
    case DType::kFloat16:
      return std::memcpy(&half, tensor + 2 * i, 2), of_half(half);
    default:
      return std::memcpy(&half, tensor + 2 * i, 2), std::bit_cast<float>(uint32_t{half} << 16);
  }
}

// The most by which a rounding to nearest may be off, relative to the value.
double rounding(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return 0;
    case DType::kFloat32:
      return 0x1p-24;
    case DType::kFloat16:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}

// Elements that differ from the formula by more than their type's rounding (and that of a multiplication and an
// addition in float, which not every machine fuses), or that were written where nothing belongs.
int wrong_elements(const TensorFormat& format, const PixelRows& rows) {
  const Size size = format.size;
  const auto elements = static_cast<size_t>(size.width * size.height * 3),
             bytes = elements * config::dtype_bytes(format.dtype);
  std::vector<uint8_t> tensor(bytes + 64, 0x5C);
  const int first_part = size.height / 2;
  image::write_rows(format, {rows.row(0), rows.stride_bytes, 0}, 0, first_part, tensor.data());
  image::write_rows(format, {rows.row(first_part), rows.stride_bytes, 0}, first_part, size.height - first_part,
                    tensor.data());
  int wrong = 0;
  for (size_t i = bytes; i < tensor.size(); ++i) wrong += tensor[i] != 0x5C;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int at =
            format.layout == Layout::kNchw ? (c * size.height + y) * size.width + x : (y * size.width + x) * 3 + c;
        const bool plain = format.dtype == DType::kUint8;
        const double factor = plain ? 1 : format.factor[static_cast<size_t>(c)];
        const double offset = plain ? 0 : format.offset[static_cast<size_t>(c)];
        const double product = rows.row(y)[3 * x + c] * factor, exact = product + offset;
        const double allowed =
            std::abs(exact) * rounding(format.dtype) + (std::abs(product) + std::abs(exact)) * 0x1.1p-23;
        wrong += std::abs(element(format.dtype, tensor.data(), static_cast<size_t>(at)) - exact) >
                 (plain ? 0 : allowed + 0x1p-25);
      }
    }
  }
  return wrong;
}

TEST_CASE("tensors of every type and layout on every instruction set", "[transform]") {
  const auto dtype = GENERATE(DType::kUint8, DType::kFloat16, DType::kBfloat16, DType::kFloat32);
  const auto layout = GENERATE(Layout::kNhwc, Layout::kNchw);
  TensorFormat format;
  format.dtype = dtype;
  format.layout = layout;
  format.factor = {1 / (255 * 0.229f), 1 / (255 * 0.224f), 1 / (255 * 0.225f)};
  format.offset = {-0.485f / 0.229f, -0.456f / 0.224f, -0.406f / 0.225f};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    for (const int width : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 100, 224}) {
      format.size = {width, 5};
      CAPTURE(hwy::TargetName(target), width, static_cast<int>(dtype), static_cast<int>(layout));
      CHECK(wrong_elements(format, test::noise(format.size, static_cast<uint32_t>(width))) == 0);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("float16 of very small and very large values", "[transform]") {
  TensorFormat format;
  format.dtype = DType::kFloat16;
  format.size = {40, 2};
  const PixelRows rows = test::noise(format.size, 9);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    CAPTURE(hwy::TargetName(target));
    std::vector<uint8_t> tensor(480);
    for (const float factor : {1e-7f, 3e-7f, 1e-6f, -2e-7f}) {
      format.factor.fill(factor);
      image::write_rows(format, {rows.row(0), rows.stride_bytes, 0}, 0, 2, tensor.data());
      int wrong = 0;
      for (size_t i = 0; i < 240; ++i) {
        const double exact = rows.row(0)[i] * factor, error = element(DType::kFloat16, tensor.data(), i) - exact;
        wrong += std::abs(error) > 1.01 * std::max(0x1p-25, std::abs(exact) * 0x1p-11);  // half of the step there
      }
      CHECK(wrong == 0);
    }
    format.factor.fill(1000);
    image::write_rows(format, {rows.row(0), rows.stride_bytes, 0}, 0, 2, tensor.data());
    int wrong = 0;
    for (size_t i = 0; i < 240; ++i) {
      const double exact = rows.row(0)[i] * 1000.0, got = element(DType::kFloat16, tensor.data(), i);
      wrong += exact < 65504 ? std::abs(got - exact) > exact * 0x1p-11 : got != 65536;  // of_half reads infinity so
    }
    CHECK(wrong == 0);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("numbers that are none stay none in every type of float, and infinities stay infinite", "[transform]") {
  constexpr int kWidth = 40;
  const std::array<uint32_t, 5> nans = {0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001};
  std::vector<float> row(kWidth);
  for (size_t i = 0; i < row.size(); i++)
    row[i] =
        i % 2 ? std::bit_cast<float>(nans[i / 2 % nans.size()]) : std::bit_cast<float>(i % 4 ? 0x7F800000 : 0xFF800000);
  TensorFormat format;
  format.dtype = GENERATE(DType::kFloat16, DType::kBfloat16, DType::kFloat32);
  format.size = {kWidth, 1};
  format.pixels = {1, 4};
  const uint32_t infinity = format.dtype == DType::kFloat16 ? 0x7C00 : 0x7F80;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    CAPTURE(hwy::TargetName(target), static_cast<int>(format.dtype));
    std::vector<uint8_t> tensor(kWidth * 4 + 64);
    image::write_rows(format, {reinterpret_cast<const uint8_t*>(row.data()), kWidth * 4, 0}, 0, 1, tensor.data());
    int wrong = 0;
    for (size_t i = 0; i < row.size(); i++) {
      uint32_t bits = 0;
      if (format.dtype == DType::kFloat32) {
        std::memcpy(&bits, tensor.data() + 4 * i, 4);
        bits >>= 16;
      } else {
        std::memcpy(&bits, tensor.data() + 2 * i, 2);
      }
      const uint32_t magnitude = bits & 0x7FFF;
      wrong += i % 2 ? magnitude <= infinity : magnitude != infinity || (bits >> 15 != 0) != (i % 4 == 0);
    }
    CHECK(wrong == 0);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("normalize and convert as a pipeline file writes them", "[transform]") {
  const PixelRows rows = test::noise({10, 10}, 1);
  const std::string crop = "{ op = \"center-crop\", size = 10 }, ";
  const auto normalized =
      test::program_of(crop + "{ op = \"normalize\", mean = [0.5, 0.25, 0], std = [0.5, 1, 2], dtype = \"float32\" }");
  CHECK(normalized.tensor().shape == std::vector<int64_t>{3, 10, 10});
  CHECK(normalized.tensor().dtype == DType::kFloat32);
  const auto tensor = test::render(normalized, rows).tensor;
  CHECK(element(DType::kFloat32, tensor.data(), 0) == Approx((rows.row(0)[0] / 255.0 - 0.5) / 0.5));
  CHECK(element(DType::kFloat32, tensor.data(), 100) == Approx(rows.row(0)[1] / 255.0 - 0.25));
  CHECK(element(DType::kFloat32, tensor.data(), 299) == Approx(rows.row(9)[29] / 255.0 / 2));

  const auto scaled = test::program_of(crop + "{ op = \"convert\", dtype = \"bfloat16\", scale = 2 }");
  CHECK(scaled.tensor().bytes() == 600);
  CHECK(element(DType::kBfloat16, test::render(scaled, rows).tensor.data(), 5) ==
        Approx(rows.row(0)[5] * 2).epsilon(0.005));

  const auto plain = test::program_of("{ op = \"center-crop\", size = 10 }");
  CHECK(plain.tensor().shape == std::vector<int64_t>{10, 10, 3});
  CHECK(plain.tensor().dtype == DType::kUint8);
  CHECK(std::memcmp(test::render(plain, rows).tensor.data(), rows.row(0), 300) == 0);
}

}  // namespace
}  // namespace spdld::tensor_rows_test
