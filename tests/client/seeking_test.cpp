// What a loader keeps of its seek: when the daemon is told, and what a new ring must know.
#include "client/src/seeking.h"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace spdld::client {

using State = Seeking::State;

TEST_CASE("a seek is told once, with a number of its own, and ends with the first batch") {
  Seeking seeking(false);
  CHECK(seeking.run() == 0);
  CHECK_THROWS_AS(seeking.tell(false), std::logic_error);  // there is nothing to tell
  CHECK(seeking.run() == 0);
  for (uint32_t run = 1; run < 4; ++run) {
    seeking.begin({0, 5}, false);
    CHECK(seeking.state() == State::kDue);
    CHECK_FALSE(seeking.is_told());
    seeking.tell(false);
    CHECK(seeking.is_told());
    CHECK(seeking.run() == run);
    CHECK_THROWS_AS(seeking.tell(false), std::logic_error);
    seeking.arrive({1, 0});
    CHECK(seeking.state() == State::kNone);
  }
  CHECK_FALSE(seeking.sought());  // without replicas nobody asks where it went
}

TEST_CASE("a replica says that it waits under its seek's number, and again after a refusal") {
  Seeking seeking(true);
  seeking.begin({0, 5}, false);
  CHECK(seeking.is_open());
  seeking.tell(false);
  seeking.tell(true);
  CHECK(seeking.run() == 1);
  CHECK(seeking.state() == State::kWaits);
  CHECK_THROWS_AS(seeking.tell(true), std::logic_error);
  seeking.refuse();
  CHECK(seeking.state() == State::kSent);
  seeking.refuse();  // the refusal of its first message, too
  CHECK(seeking.state() == State::kSent);
  seeking.tell(true);
  CHECK(seeking.run() == 1);
  seeking.arrive({2, 0});
  CHECK_FALSE(seeking.is_open());
  CHECK(seeking.sought() == Position{2, 0});
  seeking.arrive({2, 1});
  CHECK_FALSE(seeking.sought());
}

TEST_CASE("a new ring begins at the position before the first of the replica's open seeks, and is told of the last") {
  Seeking seeking(true);
  seeking.begin({0, 5}, false);
  seeking.tell(false);
  seeking.begin({1, 0}, true);
  CHECK(seeking.ring_position({1, 0}) == Position{0, 5});
  CHECK(seeking.stays());
  CHECK_FALSE(seeking.again());
  seeking.tell(true);
  CHECK(seeking.run() == 2);
  seeking.start_anew();
  CHECK(seeking.state() == State::kDue);
  CHECK(seeking.ring_position({1, 0}) == Position{0, 5});
  CHECK(seeking.again());
  CHECK_FALSE(seeking.stays());
  CHECK(seeking.run() == 0);
  seeking.start_anew();  // the second ring is lost before it is told
  CHECK(seeking.again());
  seeking.tell(true);
  CHECK(seeking.run() == 1);
  seeking.begin({1, 0}, false);  // another seek: of this one nobody was told
  CHECK_FALSE(seeking.again());
}

TEST_CASE("a replica's seek while the daemon is away is the first of its kind to the next daemon") {
  Seeking seeking(true);
  seeking.begin({0, 5}, true);
  seeking.start_anew();  // nobody was told
  CHECK(seeking.state() == State::kDue);
  CHECK_FALSE(seeking.again());
  CHECK_FALSE(seeking.stays());
  CHECK(seeking.ring_position({7, 0}) == Position{0, 5});
  seeking.start_anew();  // that daemon ended, too, before it was told
  CHECK_FALSE(seeking.again());
  seeking.tell(true);
  CHECK(seeking.run() == 1);
  seeking.arrive({7, 0});
  CHECK(seeking.sought() == Position{7, 0});
  seeking.start_anew();
  CHECK(seeking.state() == State::kNone);
  CHECK_FALSE(seeking.again());
  CHECK(seeking.ring_position({7, 1}) == Position{7, 1});
}

TEST_CASE("a loader without replicas that seeks while the daemon is away begins there, and seeks no more") {
  Seeking seeking(false);
  seeking.begin({0, 5}, false);
  seeking.start_anew();
  CHECK(seeking.state() == State::kNone);
  CHECK_FALSE(seeking.again());
  CHECK(seeking.ring_position({3, 1}) == Position{3, 1});
  CHECK_THROWS_AS(seeking.tell(false), std::logic_error);
}

TEST_CASE("without replicas a new ring begins where the loader wants its next batch, and no seek is left") {
  Seeking seeking(false);
  seeking.begin({0, 5}, false);
  seeking.tell(false);
  CHECK_FALSE(seeking.is_open());
  CHECK(seeking.ring_position({3, 1}) == Position{3, 1});
  seeking.start_anew();
  CHECK(seeking.state() == State::kNone);
  CHECK(seeking.run() == 0);
  seeking.start_anew();  // with no seek at all
  CHECK(seeking.state() == State::kNone);
}

}  // namespace spdld::client
