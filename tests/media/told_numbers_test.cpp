#include "daemon/media/told_numbers.h"

#include <catch2/catch.hpp>

namespace spdld::told_numbers_test {

TEST_CASE("each output tells a number of its own, of the sample that is worked on") {
  media::ToldNumbers told({});
  CHECK_FALSE(told.find("start"));
  told.tell(3, "start", 1.5);
  told.tell(3, "end", 2.5);
  CHECK(told.find("start") == 1.5);
  CHECK(told.find("end") == 2.5);
  CHECK_FALSE(told.find("middle"));
  told.tell(3, "start", 4);
  CHECK(told.find("start") == 4);
  CHECK(told.find("end") == 2.5);
  told.tell(4, "end", 7);
  CHECK_FALSE(told.find("start"));
  CHECK(told.find("end") == 7);
}

}  // namespace spdld::told_numbers_test
