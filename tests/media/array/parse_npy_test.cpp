// parse-npy as an operation: arrays of the dtype and shape that it is for, and others.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "tests/support/makers/npy_maker.h"
#include "tests/support/one_chain.h"

namespace spdld::parse_npy_test {
namespace {

using config::Form;
using config::TooLong;
using test::make_npy;
using test::OneChain;
using Ints = std::vector<int32_t>;

std::vector<config::OperationSpec> parse_npy(const std::string& dtype, std::vector<double> shape, int64_t length) {
  return {{"parse-npy", {{"dtype", dtype}, {"shape", std::move(shape)}, {"length", length}}, {}}};
}

template <typename T>
std::string bytes_of(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

const std::string kSix = bytes_of(Ints{1, 2, 3, 4, 5, 6});

TEST_CASE("an array is as long as its file says, up to the bound", "[media]") {
  OneChain flat{parse_npy("int32", {}, 0), Form::kRagged, 6};
  CHECK(*flat.run<int32_t>(make_npy("<i4", "(6,)", kSix)) == Ints{1, 2, 3, 4, 5, 6});
  CHECK(flat.run<int32_t>(make_npy("<i4", "(0,)", ""))->empty());
  OneChain rows{parse_npy("int32", {3}, 0), Form::kPadded, 1};
  CHECK_THAT(rows.error<int32_t>(make_npy("<i4", "(2, 3)", kSix)).message, Catch::Contains("length of 2"));
  rows.too_long = TooLong::kCut;
  CHECK(*rows.run<int32_t>(make_npy("<i4", "(2, 3)", kSix)) == Ints{1, 2, 3});
  CHECK(rows.run<int32_t>(make_npy("<i4", "(0, 3)", ""))->empty());
  rows.too_long = TooLong::kLeaveOut;
  CHECK(rows.error<int32_t>(make_npy("<i4", "(2, 3)", kSix)).trouble == Trouble::kTooLong);
}

TEST_CASE("an array of one length is a tensor of one shape", "[media]") {
  const OneChain chain{parse_npy("int32", {3}, 2)};
  CHECK(*chain.run<int32_t>(make_npy("<i4", "(2, 3)", kSix)) == Ints{1, 2, 3, 4, 5, 6});
  CHECK_THAT(chain.error<int32_t>(make_npy("<i4", "(1, 3)", kSix.substr(0, 12))).message,
             Catch::Contains("its shape is (1, 3), not (2, 3)"));
}

TEST_CASE("another dtype or shape is bad content", "[media]") {
  const OneChain chain{parse_npy("int32", {3}, 0), Form::kRagged, 6};
  const auto error = [&](const std::string& file) {
    const Error refused = chain.error<int32_t>(file);
    CHECK(refused.trouble == Trouble::kContent);
    return refused.message;
  };
  const std::string start = "output 'out': the .npy file can't be taken: ";
  CHECK(error(make_npy("<u4", "(2, 3)", kSix)) == start + "its dtype is uint32, not int32");
  CHECK(error(make_npy("<i4", "(6,)", kSix)) == start + "its shape is (6,), not (n, 3)");
  CHECK(error(make_npy("<i4", "(3, 2)", kSix)) == start + "its shape is (3, 2), not (n, 3)");
  CHECK(error(make_npy("<i4", "(1, 2, 3)", kSix)) == start + "its shape is (1, 2, 3), not (n, 3)");
  CHECK(error(make_npy("<i4", "()", kSix.substr(0, 4))) == start + "its shape is (), not (n, 3)");
  CHECK(error("junk") == start + "it is no .npy file: it does not begin with \\x93NUMPY");
}

TEST_CASE("the order of an array's elements and bytes", "[media]") {
  const OneChain flat{parse_npy("int32", {}, 0), Form::kRagged, 6}, rows{parse_npy("int32", {3}, 0), Form::kRagged, 6};
  CHECK(*flat.run<int32_t>(make_npy("<i4", "(6,)", kSix, 1, true)) == Ints{1, 2, 3, 4, 5, 6});
  CHECK_THAT(rows.error<int32_t>(make_npy("<i4", "(2, 3)", kSix, 1, true)).message, Catch::Contains("Fortran"));
  CHECK(*flat.run<int32_t>(make_npy(">i4", "(2,)", std::string("\0\0\0\1\xff\xff\xff\xfe", 8))) == Ints{1, -2});
}

TEST_CASE("a bool is 0 or 1", "[media]") {
  const OneChain chain{parse_npy("bool", {}, 0), Form::kRagged, 6};
  CHECK(*chain.run<uint8_t>(make_npy("|b1", "(3,)", std::string("\0\1\1", 3))) == std::vector<uint8_t>{0, 1, 1});
  CHECK_THAT(chain.error<uint8_t>(make_npy("|b1", "(3,)", std::string("\0\1\2", 3))).message,
             Catch::Contains("neither 0 nor 1"));
}

}  // namespace
}  // namespace spdld::parse_npy_test
