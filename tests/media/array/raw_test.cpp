// raw and raw-int as operations: values out of bytes, and the bytes that they refuse.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/operation.h"
#include "tests/support/one_chain.h"

namespace spdld::raw_test {
namespace {

using Catch::Contains;
using config::Form;
using test::OneChain;

std::vector<config::OperationSpec> raw(const std::string& dtype, std::vector<double> shape, int64_t offset = -1) {
  return {{"raw", {{"dtype", dtype}, {"shape", std::move(shape)}, {"offset", offset}}, {}}};
}

std::vector<config::OperationSpec> one_hot_of(const std::string& dtype, int64_t offset) {
  return {{"raw-int", {{"dtype", dtype}, {"offset", offset}}, {}},
          {"one-hot", {{"classes", int64_t{4}}, {"smoothing", 0.0}, {"dtype", std::string("uint8")}}, {}}};
}

const std::string kBytes("\x01\x00\x02\x00\xff\xff\x04\x00", 8);

// Why the operation can't take bytes like these; empty: it can.
std::string misfit(std::vector<config::OperationSpec> ops, config::RawValues has, Form form = Form::kFixed) {
  config::Signature start = config::bytes_of(config::Origin::kContent);
  start.bytes().raw = std::move(has);
  return config::follow(ops, start, form).error;
}

TEST_CASE("bytes are the values of a tensor", "[media]") {
  CHECK(*OneChain{raw("int16", {4})}.run<int16_t>(kBytes) == std::vector<int16_t>{1, 2, -1, 4});
  CHECK(*OneChain{raw("uint16", {2, 2})}.run<uint16_t>(kBytes) == std::vector<uint16_t>{1, 2, 0xffff, 4});
  CHECK(*OneChain{raw("int64", {})}.run<int64_t>(kBytes) == std::vector<int64_t>{0x0004ffff00020001});
  CHECK(*OneChain{raw("int16", {2}, 2)}.run<int16_t>(kBytes) == std::vector<int16_t>{2, -1});
  CHECK(*OneChain{raw("bool", {2}, 0)}.run<uint8_t>(kBytes) == std::vector<uint8_t>{1, 0});
}

TEST_CASE("samples may differ in length", "[media]") {
  CHECK(*OneChain{raw("int16", {0}), Form::kRagged, 9}.run<int16_t>(kBytes) == std::vector<int16_t>{1, 2, -1, 4});
  CHECK(*OneChain{raw("int16", {0, 3}, 2), Form::kPadded, 9}.run<int16_t>(kBytes) == std::vector<int16_t>{2, -1, 4});
  CHECK(OneChain{raw("int16", {0}), Form::kRagged, 9}.run<int16_t>("")->empty());
  CHECK_THAT(OneChain({raw("int16", {0}), Form::kRagged, 3}).error<int16_t>(kBytes).message, Contains("length of 4"));
  CHECK_THAT(OneChain({raw("int16", {0, 3}), Form::kRagged, 9}).error<int16_t>(kBytes).message,
             Contains("it has 8 bytes, and values of 6 bytes are wanted"));
}

TEST_CASE("bytes of another length are bad content", "[media]") {
  const auto error = [](const OneChain& chain, const std::string& content) {
    const Error refused = chain.error<int16_t>(content);
    CHECK(refused.trouble == Trouble::kContent);
    return refused.message;
  };
  CHECK(error({raw("int16", {3})}, kBytes) == "output 'out': it has 8 bytes, and 6 bytes are wanted");
  CHECK_THAT(error({raw("int16", {5})}, kBytes), Contains("10 bytes are wanted"));
  CHECK_THAT(error({raw("int16", {4}, 1)}, kBytes), Contains("from byte 1 on"));
  CHECK_THAT(error({raw("int16", {1}, 9)}, kBytes), Contains("from byte 9 on"));
  CHECK_THAT(OneChain{raw("bool", {8})}.error<uint8_t>(kBytes).message, Contains("neither 0 nor 1"));
}

TEST_CASE("an integer in bytes is an integer", "[media]") {
  CHECK(*OneChain{one_hot_of("uint8", 2)}.run<uint8_t>(kBytes) == std::vector<uint8_t>{0, 0, 1, 0});
  CHECK(*OneChain{one_hot_of("int16", 0)}.run<uint8_t>(kBytes) == std::vector<uint8_t>{0, 1, 0, 0});
  CHECK_THAT(OneChain{one_hot_of("int16", 4)}.error<uint8_t>(kBytes).message, Contains("-1 is no class"));
  CHECK_THAT(OneChain{one_hot_of("uint16", 4)}.error<uint8_t>(kBytes).message, Contains("65535 is no class"));
  CHECK_THAT(OneChain{one_hot_of("int32", -1)}.error<uint8_t>(kBytes).message, Contains("it has 8 bytes"));
  CHECK_THAT(OneChain{one_hot_of("int32", 5)}.error<uint8_t>(kBytes).message, Contains("at byte 5"));
  CHECK_THAT(OneChain{one_hot_of("uint64", -1)}.error<uint8_t>(std::string(8, '\xff')).message,
             Contains("beyond an int64"));
}

TEST_CASE("what the source knows of its values is held against the operation", "[media]") {
  using config::DType;
  const config::RawValues floats{DType::kFloat32, std::vector<int64_t>{2, 3}};
  CHECK(misfit(raw("float32", {2, 3}), floats).empty());
  CHECK_THAT(misfit(raw("float64", {2, 3}), floats),
             Contains("wants float64 [2, 3], and the field's values are float32 [2, 3]"));
  CHECK_THAT(misfit(raw("float32", {6}), floats), Contains("the field's values are float32 [2, 3]"));
  CHECK(misfit(raw("uint8", {4}, 20), floats).empty());
  CHECK_THAT(misfit(raw("uint8", {5}, 20), floats), Contains("5 bytes from byte 20 on, and the field has 24"));
  const config::RawValues record{std::nullopt, std::vector<int64_t>{9}};
  CHECK(misfit(raw("uint8", {9}), record).empty());
  CHECK_THAT(misfit(raw("uint8", {8}), record), Contains("the field has 9: write an offset"));
  CHECK(misfit(raw("int64", {}, 1), record).empty());
  CHECK_THAT(misfit(raw("int64", {}, 2), record), Contains("8 bytes from byte 2 on"));
  const config::RawValues list{DType::kInt64, std::nullopt};
  CHECK(misfit(raw("int64", {}), list).empty());
  CHECK_THAT(misfit(raw("int32", {}), list), Contains("the field's values are int64"));
  CHECK_THAT(misfit(one_hot_of("int32", -1), list), Contains("wants int32, and the field's values are int64"));
}

}  // namespace
}  // namespace spdld::raw_test
