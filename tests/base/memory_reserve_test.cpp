#include "daemon/base/system/memory_reserve.h"

#include <catch2/catch.hpp>
#include <new>

namespace spdld::memory_reserve_test {

// The handler is called as operator new calls it: the sanitizers' own does not.
TEST_CASE("a thread that finds no memory gets the reserve once, and a thread that spares the reserve does not") {
  const std::new_handler before = std::get_new_handler();
  REQUIRE(memory_reserve::keep());
  const std::new_handler no_memory = std::get_new_handler();
  REQUIRE(no_memory);
  const uint64_t earlier = memory_reserve::shortages();
  {
    const memory_reserve::Spared spared;
    CHECK_THROWS_AS(no_memory(), std::bad_alloc);
  }
  CHECK_NOTHROW(no_memory());  // the allocation is tried again, with the memory of the reserve
  CHECK_THROWS_AS(no_memory(), std::bad_alloc);
  CHECK(memory_reserve::shortages() == earlier + 3);
  REQUIRE(memory_reserve::keep());
  CHECK_NOTHROW(no_memory());
  std::set_new_handler(before);
}

}  // namespace spdld::memory_reserve_test
