#include "client/cli/state/activity.h"

#include <catch2/catch.hpp>

namespace spdld::activity_test {

using namespace spdld::cli;
using json = config::Json;

namespace {

constexpr Page kWide{false, 200};

json described(uint64_t kept, double room_bytes) {
  return {{"state", "running"},
          {"cache",
           {{"taken", 2000},
            {"memory_room_bytes", room_bytes},
            {"disk_room_bytes", 0},
            {"fields",
             {{{"field", "image"},
               {"form", "decoded"},
               {"memory_entries", kept},
               {"memory_bytes", kept * 1000},
               {"memory_left_bytes", 0},
               {"disk_entries", 0},
               {"disk_bytes", 0}}}}}}};
}

json ring(const char* group, uint64_t rank, uint64_t epoch, uint64_t step, uint64_t batches) {
  return {{"group", group},     {"rank", rank},     {"epoch", epoch},        {"step", step},
          {"batches", batches}, {"batch_size", 10}, {"steps_per_epoch", 100}};
}

}  // namespace

TEST_CASE("a listing is told with its rate, and its time left where the whole is known") {
  Activity activity;
  json describe = {{"state", "listing"}, {"listing", {{"what", "listing pictures"}, {"done", 0}, {"total", 0}}}};
  CHECK(activity.note(describe, 0).text(kWide) == "listing  the daemon checks whether the last listing still holds\n");
  describe["listing"]["done"] = 1000;
  CHECK(activity.note(describe, 1).text(kWide) == "listing  1,000 pictures\n");
  describe["listing"]["done"] = 3000, describe["listing"]["total"] = 10000;
  CHECK(activity.note(describe, 2).text(kWide) == "listing  3,000 of 10,000 pictures  30 %  2,000/s  4 s left\n");
  describe["listing"] = {{"what", "listing bytes of archives"}, {"done", 1024}, {"total", 4096}};
  CHECK(activity.note(describe, 3).text(kWide) == "listing  1.0 KiB of 4.0 KiB of archives  25 %\n");
  describe["state"] = "ready";
  CHECK(activity.note(describe, 4).empty());
}

TEST_CASE("what the cache keeps is told as it fills") {
  Activity activity;
  const double enough = 1e9;
  CHECK(activity.note(described(0, enough), 0).text(kWide) == "cached  image: 0 of 2,000 samples  0 %\n");
  CHECK(activity.note(described(500, enough), 5).text(kWide) ==
        "cached  image: 500 of 2,000 samples  25 %  100/s  15 s left\n");
  CHECK(activity.note(described(2000, enough), 10).text(kWide) == "cached  image: 2,000 of 2,000 samples  100 %\n");
  // Another pipeline on the same data set took more of it.
  CHECK(activity.note(described(2500, enough), 11).text(kWide) == "cached  image: 2,000 of 2,000 samples  100 %\n");
}

TEST_CASE("where not all fits, the whole is what fits") {
  Activity activity;
  activity.note(described(0, 1300e3), 0);
  CHECK(activity.note(described(500, 800e3), 5).text(kWide) ==
        "cached  image: 500 of 1,300 samples that fit, of 2,000  38 %  100/s  8 s left\n");
  CHECK(activity.note(described(1300, 0), 10).text(kWide) ==
        "cached  image: 1,300 of 1,300 samples that fit, of 2,000  100 %\n");
}

TEST_CASE("memory and disk hold the same samples as far as both have room") {
  json describe = described(500, 0);
  json field = *describe["cache"]["fields"].begin();
  field["disk_entries"] = 1500, field["disk_bytes"] = 1500000;
  describe["cache"]["fields"] = json::array();
  describe["cache"]["fields"].push_back(field);
  describe["cache"]["disk_room_bytes"] = 1e9;
  CHECK(Activity().note(describe, 0).text(kWide) == "cached  image: 1,500 of 2,000 samples  75 %\n");
}

TEST_CASE("a job is as far as its slowest rank, and as quick as all of them") {
  Activity activity;
  json describe = {{"state", "running"}, {"rings", {ring("run-1", 0, 3, 29, 30), ring("run-1", 1, 3, 9, 10)}}};
  CHECK(activity.note(describe, 0).text(kWide) == "job  run-1, 2 ranks: epoch 3, 10 of 100 steps  10 %\n");
  describe["rings"] = {ring("run-1", 0, 3, 59, 60), ring("run-1", 1, 3, 49, 50)};
  CHECK(activity.note(describe, 2).text(kWide) ==
        "job  run-1, 2 ranks: epoch 3, 50 of 100 steps  50 %  350 samples/s  3 s left\n");
  // A new epoch goes on at the same speed.
  describe["rings"] = {ring("run-1", 0, 4, 0, 101), ring("run-1", 1, 4, 9, 110)};
  CHECK(activity.note(describe, 4).text(kWide) ==
        "job  run-1, 2 ranks: epoch 4, 1 of 100 steps  1 %  428 samples/s  5 s left\n");
}

TEST_CASE("jobs that share a stream are one line, and pushed orders have no place to tell") {
  json shared = ring("", 0, 0, 0, 0);
  shared["shared"] = true, shared["jobs"] = {{{"group", "a"}}, {{"group", "b"}}};
  json pushed = ring("pushed", 0, 0, 5, 6);
  pushed["steps_per_epoch"] = 0;
  const json describe = {{"state", "running"}, {"rings", {shared, pushed}}};
  CHECK(Activity().note(describe, 0).text(kWide) == "job  2 jobs on one stream: epoch 0, 0 of 100 steps  0 %\n");
}

TEST_CASE("what a document lacks is not shown") {
  const json odd =
      *json::parse(R"({"state": 3, "listing": "x", "cache": {"taken": "y", "fields": {}}, "rings": [7, {}]})");
  for (const json& document : {json::object(), odd}) CHECK(Activity().note(document, 0).empty());
  json holes = described(1, 1);
  holes["cache"]["fields"] = {7, json::object()};
  CHECK(Activity().note(holes, 0).text(kWide) ==
        "cached  : 0 of 2,000 samples  0 %\ncached  : 0 of 2,000 samples  0 %\n");
}

}  // namespace spdld::activity_test
