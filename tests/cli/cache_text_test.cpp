#include "client/cli/state/cache_text.h"

#include <catch2/catch.hpp>

#include "client/cli/cli.h"

namespace spdld::cache_text_test {

using namespace spdld::cli;

namespace {
constexpr Page kWide{false, 200}, kColoured{true, 200};
}  // namespace
using json = config::Json;

namespace {

json described() {
  return *json::parse(R"({
    "cache": {"asked": "auto", "form": "decoded", "why": "all 2000 pictures fit: about 610 MiB of 5.6 GiB",
              "fields": [{"field": "image", "form": "decoded", "memory_entries": 1500, "memory_bytes": 503316480,
                          "disk_entries": 500, "disk_bytes": 167772160, "memory_hits": 4500, "disk_hits": 1500,
                          "misses": 2000, "stale": 0, "refused": 0},
                         {"field": "txt", "form": "encoded", "memory_entries": 0, "memory_bytes": 0,
                          "disk_entries": 0, "disk_bytes": 0, "memory_hits": 0, "disk_hits": 0,
                          "misses": 0, "stale": 1, "refused": 2000}]},
    "tuning": {"stages": ["fetch", "decode"],
               "decode": {"now": 2, "max": 8, "pinned": false, "unit": "decode threads"},
               "fetch": {"now": 4, "max": 16, "pinned": true, "unit": "reads at once"},
               "depth": {"now": 3, "max": 4, "pinned": false, "unit": "batches ahead"},
               "reason": "trainers waited 12 % of the time", "changes": 3}})");
}

json node_status() {
  return *json::parse(R"({
    "cpu": {"budget": 2, "quota": 1.5, "affinity": 2, "machine": 64, "numa_nodes": [0, 1],
            "decode_concurrency": 2, "fetch_concurrency": 4},
    "cache": {"ram_bytes": 1073741824, "ram_bytes_max": 6442450944, "disk_bytes": 0, "disk_bytes_max": 68719476736,
              "folder": "/mnt/ssd", "disk_trouble": "", "damaged": 0,
              "shelves": [{"uri": "/data/train", "field": "image", "form": "decoded", "in_use": true,
                           "memory_bytes": 503316480, "disk_bytes": 0},
                          {"uri": "/data/old", "field": "image", "form": "encoded", "in_use": false,
                           "memory_bytes": 1048576, "disk_bytes": 2097152}]}})");
}

template <typename Add>
std::string facts_of(Add add, const json& document) {
  Facts facts;
  add(facts, document);
  return facts.text(kWide);
}

}  // namespace

TEST_CASE("describe says what the cache chose and how often it hits") {
  CHECK(facts_of(add_cache, described()) ==
        "cache  decoded (asked: auto): all 2000 pictures fit: about 610 MiB of 5.6 GiB; hit rate 75 %\n");
  json asked = described();
  asked["cache"]["asked"] = "decoded", asked["cache"]["why"] = "", asked["cache"]["fields"] = json::array();
  CHECK(facts_of(add_cache, asked) == "cache  decoded\n");
  asked["cache"]["form"] = "";
  CHECK(facts_of(add_cache, asked) == "cache  not chosen yet (asked: decoded)\n");
}

TEST_CASE("describe has a line for each cached field") {
  CHECK(cached_fields_text(described(), kWide) ==
        "CACHED  FORM     IN MEMORY    BYTES  ON DISK    BYTES  HIT RATE   HITS  FROM DISK  MISSES  STALE  REFUSED\n"
        "image   decoded      1,500  480 MiB      500  160 MiB      75 %  6,000      1,500   2,000      0        0\n"
        "txt     encoded          0      0 B        0      0 B         -      0          0       0      1    2,000\n"
        "\n");
}

TEST_CASE("describe says how much runs at once, and why") {
  CHECK(facts_of(add_tuning, described()) == "tuning  3 changes, last: trainers waited 12 % of the time\n");
  CHECK(tuning_text(described(), kWide) ==
        "TUNED   NOW  MOST  OF              SET BY\n"
        "fetch     4    16  reads at once   pinned\n"
        "decode    2     8  decode threads  measurements\n"
        "depth     3     4  batches ahead   measurements\n"
        "\n");
  json off = described();
  off["tuning"]["enabled"] = false;
  CHECK(tuning_text(off, kWide).find("measurements") == std::string::npos);
  CHECK(tuning_text(off, kWide).find("batches ahead   its most\n") != std::string::npos);
}

TEST_CASE("status shows the limits and the cache") {
  CHECK(facts_of(add_cpu_limits, node_status()) ==
        "cpu limits   cgroup quota of 1.5 cores, affinity to 2 cores, machine of 64 cores, NUMA nodes 0 and 1\n"
        "concurrency  decode 2, fetch 4\n");
  json free = node_status();
  free["cpu"] = *json::parse(R"({"budget": 2, "quota": 0.0, "affinity": 1, "machine": 64, "numa_nodes": [0]})");
  free["cpu"]["decode_concurrency"] = 1, free["cpu"]["fetch_concurrency"] = 16;
  CHECK(facts_of(add_cpu_limits, free) ==
        "cpu limits   no cgroup quota, affinity to 1 core, machine of 64 cores, NUMA node 0\n"
        "concurrency  decode 1, fetch 16\n");
  CHECK(facts_of(add_cache_limits, node_status()) ==
        "cache  1.0 GiB of at most 6.0 GiB; 0 B of at most 64.0 GiB in /mnt/ssd\n");
  CHECK(shelves_text(node_status(), kWide) ==
        "CACHED       FIELD  FORM     USED  IN MEMORY  ON DISK\n"
        "/data/train  image  decoded  yes     480 MiB      0 B\n"
        "/data/old    image  encoded  no      1.0 MiB  2.0 MiB\n"
        "\n");
}

TEST_CASE("status says what is wrong with the cache's disk") {
  json status = node_status();
  status["cache"]["disk_trouble"] = "/mnt/ssd is used by another daemon";
  status["cache"]["damaged"] = 1;
  CHECK(facts_of(add_cache_limits, status) ==
        "cache          1.0 GiB of at most 6.0 GiB\n"
        "cache on disk  /mnt/ssd is used by another daemon\n"
        "cache damage   1 entry on disk failed the checksum\n");
  status["cache"] = {{"ram_bytes_max", 0}, {"folder", ""}};
  CHECK(facts_of(add_cache_limits, status) == "cache  off\n");
}

TEST_CASE("of a cache and a tuning that are not there, or are written otherwise, nothing is shown") {
  const json none = json::object();
  const json odd = *json::parse(R"({"cpu": 3, "cache": [1], "tuning": "yes"})");
  for (const json& document : {none, odd}) {
    CHECK(facts_of(add_cache, document).empty());
    CHECK(facts_of(add_tuning, document).empty());
    CHECK(facts_of(add_cache_limits, document).empty());
    CHECK(cached_fields_text(document, kColoured).empty());
    CHECK(tuning_text(document, kColoured).empty());
    CHECK(shelves_text(document, kColoured).empty());
  }
  CHECK_THROWS_AS(facts_of(add_cpu_limits, none), Failure);
  CHECK_THROWS_AS(facts_of(add_cpu_limits, odd), Failure);
  // Lines that lack fields, or are no tables at all, stay lines.
  const json holes = *json::parse(
      R"({"cache": {"form": "off", "fields": [{}, 7]}, "tuning": {"stages": [7, "decode", "odd"], "decode": {"now": -1}}})");
  CHECK(facts_of(add_cache, holes) == "cache  off\n");
  CHECK(cached_fields_text(holes, kWide).find("        -") != std::string::npos);
  CHECK(tuning_text(holes, kWide).find("decode    0     0") != std::string::npos);
}

}  // namespace spdld::cache_text_test
