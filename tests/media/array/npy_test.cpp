// The header of .npy files: as numpy writes it, in every version, and hostile ones.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>

#include "daemon/base/formats/npy.h"
#include "tests/support/makers/npy_maker.h"

namespace spdld::npy_test {
namespace {

using config::DType;
using test::make_npy;

Result<array::Npy> read(const std::string& file) {
  return array::read_npy({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

std::string error_of(const std::string& file) {
  const auto npy = read(file);
  if (npy) return "";
  CHECK(npy.error().trouble == Trouble::kContent);
  return npy.error().message;
}

std::string dict_error(const std::string& dict) {
  const auto npy = array::read_npy_header(dict);
  return npy ? "" : npy.error().message;
}

// The first bytes of what numpy 1.24's save() writes for arange(3, dtype=int16), taken down once.
TEST_CASE("a file of numpy's is read", "[media]") {
  std::string file("\x93NUMPY\x01\x00\x76\x00", 10);
  file += "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }";
  file.append(127 - file.size(), ' ');
  file += '\n';
  file += std::string("\x00\x00\x01\x00\x02\x00", 6);
  const auto npy = read(file);
  REQUIRE(npy);
  CHECK(npy->dtype == DType::kInt16);
  CHECK(npy->shape == std::vector<uint64_t>{3});
  CHECK_FALSE(npy->is_fortran);
  CHECK_FALSE(npy->is_big_endian);
  CHECK(npy->data.size() == 6);
}

TEST_CASE("each type of elements and each version of the format is read", "[media]") {
  const std::vector<std::pair<std::string, DType>> types = {
      {"|b1", DType::kBool},      {"|i1", DType::kInt8},        {"|u1", DType::kUint8},   {"<i2", DType::kInt16},
      {"<u2", DType::kUint16},    {"<i4", DType::kInt32},       {"<u4", DType::kUint32},  {"<i8", DType::kInt64},
      {"<u8", DType::kUint64},    {"<f2", DType::kFloat16},     {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64},
      {"<c8", DType::kComplex64}, {">c16", DType::kComplex128}, {">f4", DType::kFloat32}};
  for (const auto& [descr, dtype] : types) {
    for (const int version : {1, 2, 3}) {
      INFO(descr << " " << version);
      const auto npy = read(make_npy(descr, "(2, 3)", std::string(6 * config::dtype_bytes(dtype), 'x'), version));
      REQUIRE(npy);
      CHECK(npy->dtype == dtype);
      CHECK(npy->is_big_endian == (descr[0] == '>'));
      CHECK(npy->shape == std::vector<uint64_t>{2, 3});
    }
  }
}

TEST_CASE("a header may be written in other ways", "[media]") {
  CHECK(dict_error("{'shape':(4,),'fortran_order':True,'descr':\"<f4\"}").empty());
  CHECK(dict_error(" { 'shape' : ( 4 , 5 ) , 'fortran_order' : False , 'descr' : '<f4' , } \n").empty());
  CHECK(array::read_npy_header("{'shape': (), 'fortran_order': False, 'descr': '<f4'}")->shape.empty());
  // Python 2 wrote long numbers so, and numpy reads them.
  CHECK(array::read_npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (5L, 3, 4L), }")->shape ==
        std::vector<uint64_t>{5, 3, 4});
  CHECK_FALSE(array::read_npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (5LL, 3), }"));
}

TEST_CASE("a header that is no such dict is refused", "[media]") {
  const std::string rest = "'fortran_order': False, 'shape': (3,)}";
  const std::vector<std::string> dicts = {
      "",
      std::string("{"),
      std::string("{}"),
      std::string("[]"),
      "{'descr': '<f4', " + rest + "x",
      "{'descr': '<f4', 'descr': '<f4', " + rest,
      "{'descr': '<f4', 'x': 1, " + rest,
      "{'descr' '<f4', " + rest,
      "{'descr': '<f4' " + rest,
      "{'descr': 5, " + rest,
      "{'descr': '<f4', 'fortran_order': False}",
      std::string("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': 3}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,)}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 'x')}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (3"),
      std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}"),
      std::string("{'descr': '<f\\x34', 'fortran_order': False, 'shape': (3,)}")};
  for (const std::string& dict : dicts) {
    INFO(dict);
    CHECK_THAT(dict_error(dict), Catch::Contains("its "));
  }
  CHECK(dict_error("{'descr': [('a', '<f4')], " + rest) ==
        "its elements are records of several fields, which are no numbers");
  for (const std::string descr : {"<U5", "|O", "<M8[ns]", "|V2", "<f16", "<x4", "f4", "=f4", "", "|f4"}) {
    INFO(descr);
    CHECK_FALSE(dict_error("{'descr': '" + descr + "', " + rest).empty());
  }
  CHECK_THAT(dict_error("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}"),
             Catch::Contains("more than 8 dimensions"));
}

TEST_CASE("sizes that do not fit the file are refused", "[media]") {
  const std::string whole = make_npy("<f4", "(3,)", std::string(12, 'x'));
  CHECK(error_of(whole).empty());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) CHECK_FALSE(error_of(whole.substr(0, bytes)).empty());
  CHECK(error_of(whole + "x") == "it has 13 bytes of data, not the bytes of float32 (3,)");
  CHECK_THAT(error_of(make_npy("<f4", "(4294967296, 4294967296)", "")), Catch::Contains("not the bytes of"));
  CHECK_THAT(error_of(make_npy("<f4", "(4611686018427387904,)", "")), Catch::Contains("not the bytes of"));
  CHECK(error_of(make_npy("<f4", "(0, 18446744073709551615, 9)", "")).empty());
  CHECK_THAT(error_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + "{}"), Catch::Contains("above the limit"));
  CHECK_THAT(error_of(std::string("\x93NUMPY\x04\x00\x02\x00{}", 12)), Catch::Contains("version"));
  CHECK_THAT(error_of(std::string("\x93NUMPY\x01\x01\x02\x00{}", 12)), Catch::Contains("version"));
  CHECK_THAT(error_of("PK\x03\x04"), Catch::Contains("no .npy file"));
}

TEST_CASE("big-endian elements are turned, of complex ones each part", "[media]") {
  const auto turned = [](const std::string& descr, const std::string& data) {
    const std::string file = make_npy(descr, "(1,)", data);
    std::string copy(data.size(), '\0');
    array::copy_elements(*read(file), 1, reinterpret_cast<uint8_t*>(copy.data()));
    return copy;
  };
  CHECK(turned(">i4", "abcd") == "dcba");
  CHECK(turned("<i4", "abcd") == "abcd");
  CHECK(turned(">f8", "abcdefgh") == "hgfedcba");
  CHECK(turned(">c8", "abcdefgh") == "dcbahgfe");
  CHECK(turned(">i1", "a") == "a");
}

TEST_CASE("a file with random damage is read or refused", "[media]") {
  std::mt19937 random(5);
  const std::string whole = make_npy("<f4", "(3, 2)", std::string(24, 'x'));
  int sound = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string file = whole;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      file[random() % 90] = static_cast<char>(random() % 2 ? random() : "()<>|',:{}0123456789 FT"[random() % 23]);
    const auto npy = read(file);
    if (!npy) continue;
    ++sound;
    uint64_t bytes = config::dtype_bytes(npy->dtype);
    for (const uint64_t size : npy->shape) bytes *= size;
    CHECK(bytes == npy->data.size());
  }
  CHECK(sound > 0);
}

}  // namespace
}  // namespace spdld::npy_test
