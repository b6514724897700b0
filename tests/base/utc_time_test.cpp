#include "daemon/base/formats/utc_time.h"

#include <catch2/catch.hpp>

namespace spdld::utc_time_test {

TEST_CASE("a time in UTC is read in the forms that services write") {
  CHECK(parse_utc("1970-01-01T00:00:00Z") == 0);
  CHECK(parse_utc("2013-05-24T00:00:00Z") == 1369353600);
  CHECK(parse_utc("2013-05-24T00:00:00.000Z") == 1369353600);
  CHECK(parse_utc("2013-05-24T02:30:00.123456789+02:30") == 1369353600);
  CHECK(parse_utc("2013-05-23T23:00:00-01:00") == 1369353600);
  CHECK(parse_utc("2024-02-29T23:59:60Z") == 1709251200);
  CHECK(parse_utc("9999-12-31T23:59:59Z") == 253402300799);
}

TEST_CASE("a text that is no time is refused") {
  for (const char* text :
       {"", "2013-05-24", "2013-05-24T00:00:00", "2013-05-24 00:00:00Z", "2013-5-24T00:00:00Z", "2013-02-29T00:00:00Z",
        "2013-13-01T00:00:00Z", "2013-00-01T00:00:00Z", "1969-12-31T23:59:59Z", "2013-05-24T24:00:00Z",
        "2013-05-24T00:60:00Z", "2013-05-24T00:00:61Z", "2013-05-24T00:00:00.Z", "2013-05-24T00:00:00Zx",
        "2013-05-24T00:00:00+0200", "2013-05-24T00:00:00+24:00", "+013-05-24T00:00:00Z",
        "2013-05-24T00:00:00+02:00x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_utc(text));
  }
}

}  // namespace spdld::utc_time_test
