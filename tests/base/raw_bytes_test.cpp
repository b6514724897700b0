#include "daemon/base/raw_bytes.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <new>
#include <string>

namespace spdld::raw_bytes_test {
namespace {

std::string text(const RawBytes& bytes) {
  return bytes.size() == 0 ? "" : std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

TEST_CASE("bytes grow and keep their content") {
  RawBytes bytes;
  std::string wanted;
  for (int i = 0; i < 2000; ++i) {
    const std::string part(static_cast<size_t>(i % 97), static_cast<char>('a' + i % 26));
    bytes.append(part.data(), part.size());
    wanted += part;
  }
  CHECK(text(bytes) == wanted);
  const size_t grown = bytes.capacity();
  CHECK(grown < 2 * wanted.size());
  bytes.reserve(3 * wanted.size());
  CHECK(bytes.capacity() == 3 * wanted.size());
  bytes.shrink_to_fit();
  CHECK(bytes.capacity() == wanted.size());
  CHECK(text(bytes) == wanted);
  bytes.resize(10);
  CHECK(text(bytes) == wanted.substr(0, 10));
  CHECK(bytes.capacity() == wanted.size());
}

TEST_CASE("moved bytes leave nothing behind, and no bytes are no memory") {
  RawBytes bytes;
  bytes.append("abc", 3);
  RawBytes other(std::move(bytes));
  CHECK(text(other) == "abc");
  CHECK(bytes.size() == 0);
  CHECK(bytes.capacity() == 0);
  bytes.append("defg", 4);
  other = std::move(bytes);
  CHECK(text(other) == "defg");
  other.clear();
  other.append(nullptr, 0);
  CHECK(other.capacity() >= 4);
  other.shrink_to_fit();
  CHECK(other.capacity() == 0);
}

TEST_CASE("more than there is throws, and changes nothing") {
  RawBytes bytes;
  bytes.append("abc", 3);
  CHECK_THROWS_AS(bytes.append("x", SIZE_MAX / 2), std::bad_alloc);
  CHECK(text(bytes) == "abc");
}

}  // namespace spdld::raw_bytes_test
