#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "client/src/crew/plugin_work.h"
#include "utf8/utf8.h"

namespace spdld::plugin_test {

using namespace spdld;
using namespace spdld::client;

namespace {

constexpr uint64_t kKey = 0x0123456789abcdef;

std::string odd_path() {
  const char* const path = ::getenv("SPDLD_ODD_PLUGIN");
  REQUIRE(path);
  return path;
}

// The library as the variable ODD_TABLE has its table.
CallOutcome open_odd(PluginLibrary& library, const char* table = "") {
  REQUIRE(::setenv("ODD_TABLE", table, 1) == 0);
  CallOutcome outcome = library.open(odd_path());
  REQUIRE(::unsetenv("ODD_TABLE") == 0);
  return outcome;
}

PluginValue tensor(std::vector<int64_t> sizes, uint32_t dtype = SPDLD_PLUGIN_UINT8) {
  return {true, dtype, std::move(sizes)};
}

struct Memory final : PluginRooms {
  void* make(std::span<const int64_t> asked, uint64_t bytes) override {
    ++made;
    if (bytes > bytes_max) return nullptr;
    sizes.assign(asked.begin(), asked.end());
    room.assign(bytes, 0);
    return bytes > 0 ? room.data() : &none;
  }

  std::vector<uint8_t> room;
  std::vector<int64_t> sizes;
  uint64_t bytes_max = std::numeric_limits<uint64_t>::max();
  int made = 0;
  uint8_t none = 0;
};

// An operation of the odd plug-in.
struct Bound {
  Bound(const std::string& name, const std::string& settings, const PluginValue& takes, const PluginValue& gives)
      : is_tensor(gives.is_tensor) {
    const CallOutcome opened = open_odd(library);
    INFO(opened.text);
    REQUIRE(opened.ok());
    REQUIRE(library.find(name));
    outcome = work.bind(*library.find(name), settings, takes, gives);
  }
  PluginResult run(const std::vector<uint8_t>& input, const std::vector<int64_t>& sizes = {}, uint64_t key = kKey) {
    INFO(outcome.text);
    REQUIRE(outcome.ok());
    PluginResult result = work.run(input, sizes, key, memory);
    if (result.end == PluginEnd::kDone && !is_tensor) memory.room.resize(result.bytes);
    return result;
  }

  bool is_tensor;
  PluginLibrary library;
  PluginWork work;
  CallOutcome outcome;
  Memory memory;
};

std::vector<uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// How the operation "wrong" ends with these settings.
std::string sentence(const std::string& settings, const PluginValue& gives = {}) {
  Bound bound("wrong", settings, {}, gives);
  const PluginResult result = bound.run(bytes_of("x"));
  CHECK(result.end == PluginEnd::kBad);
  CHECK(utf8::is_utf8(result.text));
  if (!gives.is_tensor) {  // what comes behind it is as without it
    CHECK(bound.run(bytes_of("g")).end == PluginEnd::kDone);
    CHECK(bound.memory.room == bytes_of("good"));
  }
  return result.text;
}

}  // namespace

TEST_CASE("a plug-in's table tells its operations", "[client]") {
  PluginLibrary library;
  REQUIRE(open_odd(library).ok());
  CHECK(library.names() == "turn, add, count, rows, halves, wrong");
  CHECK(library.find("add")->help == std::string_view("adds a number"));
  CHECK(library.find("ad") == nullptr);
  PluginLibrary empty;
  REQUIRE(open_odd(empty, "empty").ok());
  CHECK(empty.names() == "nothing");
}

TEST_CASE("a library that is no plug-in, or a wrong one, is refused in a sentence", "[client]") {
  const std::pair<const char*, const char*> wrong[] = {
      {"refuses", "does not speak version 1 of the plug-ins' ABI: build it with the spdld_plugin.h of this spdld"},
      {"abi", "speaks version 2 of the plug-ins' ABI, and this spdld version 1: build it"},
      {"short", "gave a table with a struct_size of 23, which is too short"},
      {"shorter", "gave a table with a struct_size of 8, which is too short"},
      {"many", "says that it has 1025 operations, and 1024 are the most"},
      {"list", "gave a table without operations"},
      {"+null", "is faulty: operation 6 of its table is NULL"},
      {"+short", "is faulty: operation 6 of its table has a struct_size of 55, and at least 56 are needed"},
      {"+nameless", "is faulty: operation 6 of its table has no name of 1 to 64 letters"},
      {"+named", "is faulty: operation 6 of its table has no name of 1 to 64 letters"},
      {"+idle", "is faulty: operation 6 of its table has no bind or no run"},
      {"+unbound", "is faulty: operation 6 of its table has no bind or no run"},
      {"+unfreed", "is faulty: operation 6 of its table has one of make and free, and needs both or neither"},
      {"+twice", "is faulty: it has two operations turn"}};
  for (const auto& [table, text] : wrong) {
    INFO(table);
    PluginLibrary library;
    const CallOutcome outcome = open_odd(library, table);
    CHECK(outcome.result == SPDLD_INVALID);
    CHECK_THAT(outcome.text, Catch::StartsWith(text));
  }
  PluginLibrary library;
  CHECK(library.open("libm.so.6").text == "has no entry spdld_plugin, and so is no plug-in: see spdld_plugin.h");
  CHECK_THAT(library.open("/nowhere/libnone.so").text,
             Catch::StartsWith("cannot be loaded: /nowhere/libnone.so: cannot open shared object file"));
}

TEST_CASE("an operation gives bytes for bytes", "[client]") {
  Bound turn("turn", "", {}, {});
  for (const char* text : {"abc", "", "a longer one"}) {
    const std::string given = text;
    REQUIRE(turn.run(bytes_of(given)).end == PluginEnd::kDone);
    CHECK(turn.memory.room == bytes_of(std::string(given.rbegin(), given.rend())));
  }
  Bound shorter("wrong", "", {}, {});
  CHECK(shorter.run(bytes_of("g")).bytes == 4);
  CHECK(shorter.memory.room == bytes_of("good"));
  CHECK(shorter.run(bytes_of("x")).bytes == 8);
  CHECK(shorter.memory.room == std::vector<uint8_t>(8));  // nothing of the sample before
}

TEST_CASE("an operation writes into a room that is there, where the size is known before", "[client]") {
  Bound add("add", "3", tensor({2, 2}), tensor({2, 2}));
  REQUIRE(add.run({1, 2, 3, 4}, {2, 2}).end == PluginEnd::kDone);
  CHECK(add.memory.room == std::vector<uint8_t>{4, 5, 6, 7});
  CHECK(add.memory.made == 1);
  CHECK(add.memory.sizes == std::vector<int64_t>{2, 2});
  Bound count("count", "", {}, tensor({}, SPDLD_PLUGIN_INT64));
  for (uint8_t i = 1; i < 4; ++i) {
    REQUIRE(count.run({}).end == PluginEnd::kDone);
    CHECK(count.memory.room == std::vector<uint8_t>{i, 0, 0, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("an operation reserves a room, where the size differs from sample to sample", "[client]") {
  Bound add("add", "3", tensor({-1, 2}), tensor({-1, 2}));
  REQUIRE(add.run({1, 2, 3, 4}, {2, 2}).end == PluginEnd::kDone);
  CHECK(add.memory.room == std::vector<uint8_t>{4, 5, 6, 7});
  REQUIRE(add.run({1, 2}, {1, 2}).end == PluginEnd::kDone);
  CHECK(add.memory.sizes == std::vector<int64_t>{1, 2});
  REQUIRE(add.run({}, {0, 2}).end == PluginEnd::kDone);
  CHECK(add.memory.sizes == std::vector<int64_t>{0, 2});
  CHECK(add.memory.room.empty());
  Bound twice("wrong", "twice", {}, {});
  CHECK(twice.run(bytes_of("x")).bytes == 8);
  CHECK(twice.memory.made == 2);
}

TEST_CASE("what the pipeline says must fit what an operation gives", "[client]") {
  const auto refused = [](const char* name, const char* settings, const PluginValue& takes, const PluginValue& gives) {
    const Bound bound(name, settings, takes, gives);
    CHECK(bound.outcome.result == SPDLD_INVALID);
    return bound.outcome.text;
  };
  CHECK(refused("turn", "", {}, tensor({3})) == "gives bytes, and `gives` says uint8 [3]: correct `gives`");
  CHECK(refused("rows", "", {}, {}) == "gives uint8 [any, 2], and `gives` says bytes: correct `gives`");
  CHECK(refused("rows", "", {}, tensor({-1, 3})) ==
        "gives uint8 [any, 2], and `gives` says uint8 [any, 3]: correct `gives`");
  CHECK(refused("rows", "", {}, tensor({-1})) == "gives uint8 [any, 2], and `gives` says uint8 [any]: correct `gives`");
  CHECK(refused("rows", "", {}, tensor({-1, 2}, SPDLD_PLUGIN_INT8)) ==
        "gives uint8 [any, 2], and `gives` says int8 [any, 2]: correct `gives`");
  CHECK(refused("add", "", {}, {}) == "can't work on bytes: it adds to a tensor of uint8");
  CHECK(refused("add", "4", tensor({3}, SPDLD_PLUGIN_FLOAT32), {}) ==
        "can't work on float32 [3] with settings = \"4\": it adds to a tensor of uint8");
  CHECK(refused("wrong", "bind-bad", {}, {}) ==
        "can't work on bytes with settings = \"bind-bad\": not with these settings");
  for (const char* settings : {"kind", "tensor-dtype", "tensor-dimensions", "tensor-size"}) {
    INFO(settings);
    CHECK(refused("wrong", settings, {}, tensor({2, -1})) ==
          "is faulty: it says that it gives a value of a kind that there is not");
  }
  // A size that differs for the operation may be one that the pipeline knows, and the other way round.
  CHECK(Bound("rows", "", {}, tensor({5, 2})).outcome.ok());
  CHECK(Bound("rows", "", {}, tensor({-1, -1})).outcome.ok());
}

TEST_CASE("a result of another size than the pipeline says is bad content", "[client]") {
  Bound rows("rows", "", {}, tensor({3, 2}));
  CHECK(rows.run({0, 0, 0}).end == PluginEnd::kDone);
  const PluginResult result = rows.run({0, 0});
  CHECK(result.end == PluginEnd::kBad);
  CHECK(result.text == "it gave uint8 [2, 2], and `gives` says uint8 [3, 2]");
  CHECK(rows.memory.made == 1);  // neither made nor tried again
  CHECK(rows.run({0, 0, 0}).end == PluginEnd::kDone);
}

TEST_CASE("a bad sample has the plug-in's sentence, as a line of UTF-8", "[client]") {
  CHECK(sentence("bad") == "the header is cut");
  CHECK(sentence("silent") == "it says no reason");
  CHECK(sentence("utf8") == "caf\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xC3\xA4");
  CHECK(sentence("unended") == std::string(1024, 'x'));
}

TEST_CASE("a plug-in drops a sample, and goes on with its state", "[client]") {
  for (const char* settings : {"drop", "late-drop"}) {
    INFO(settings);
    Bound bound("wrong", settings, {}, {});
    for (int i = 0; i < 2; ++i) {
      const PluginResult result = bound.run(bytes_of("x"));
      CHECK(result.end == PluginEnd::kDropped);
      CHECK(result.text.empty());
      CHECK(bound.run(bytes_of("g")).end == PluginEnd::kDone);
    }
  }
  CHECK(sentence("lost-drop") == "there is no memory for a result of so many bytes");
}

TEST_CASE("a plug-in that does what it must not is told of in a sentence", "[client]") {
  const std::pair<const char*, const char*> wrong[] = {
      {"fault", "run failed: out of tables"},
      {"seven", "run failed, and returned 7: what is seven"},
      {"no-room", "run gave no result: it is to call reserve"},
      {"refused-room", "there is no memory for a result of so many bytes"},
      {"refused-and-done", "there is no memory for a result of so many bytes"},
      {"no-memory", "there is no memory for a result of so many bytes"},
      {"no-sizes", "it reserved room with 1 sizes that are not there"},
      {"many-sizes", "it reserved room with 9 sizes that are not there"},
      {"two-sizes", "it reserved room for bytes with 2 sizes in place of one"},
      {"too-large", "run says that its result has 9 bytes, in a room of 8"}};
  for (const auto& [settings, text] : wrong) {
    INFO(settings);
    CHECK(sentence(settings) == text);
  }
  const std::pair<const char*, const char*> of_tensors[] = {
      {"tensor-shorter", "run says that its result has 9 bytes, in a room of 10"},
      {"tensor-other", "it reserved room for uint8 [3, 5], and had said that it gives uint8 [2, any]"},
      {"tensor-large", "it reserved room for uint8 [2, 1099511627776], and had said that it gives uint8 [2, any]"},
      {"tensor-none", "it reserved room for uint8 [], and had said that it gives uint8 [2, any]"}};
  for (const auto& [settings, text] : of_tensors) {
    INFO(settings);
    CHECK(sentence(settings, tensor({2, -1})) == text);
  }
  Bound right("wrong", "tensor", {}, tensor({2, -1}));
  CHECK(right.run(bytes_of("x")).end == PluginEnd::kDone);
}

TEST_CASE("a state that can't be made makes its samples bad content", "[client]") {
  const std::pair<const char*, const char*> wrong[] = {{"make-bad", "there is no model.bin"},
                                                       {"make-fault", "make failed: it says no reason"},
                                                       {"make-drop", "make failed, and returned 3: it says no reason"}};
  for (const auto& [settings, text] : wrong) {
    Bound bound("wrong", settings, {}, {});
    for (int i = 0; i < 2; ++i) {
      const PluginResult result = bound.run(bytes_of("g"));
      CHECK(result.end == PluginEnd::kBad);
      CHECK(result.text == text);
    }
  }
}

TEST_CASE("a sample with a fault is tried once more with a new state", "[client]") {
  Bound count("count", "third", {}, tensor({}, SPDLD_PLUGIN_INT64));
  std::vector<uint8_t> seen;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(count.run({}).end == PluginEnd::kDone);
    seen.push_back(count.memory.room[0]);
  }
  CHECK(seen == std::vector<uint8_t>{1, 2, 1, 2, 1});
  Bound faulty("wrong", "fault", {}, {});
  CHECK(faulty.run(bytes_of("x")).text == "run failed: out of tables");
}

TEST_CASE("a result for which there is no memory is no crash", "[client]") {
  Bound add("add", "3", tensor({-1}), tensor({-1}));
  add.memory.bytes_max = 3;
  const PluginResult result = add.run({1, 2, 3, 4}, {4});
  CHECK(result.end == PluginEnd::kBad);
  CHECK(result.text == "there is no memory for a result of 4 bytes");
  CHECK(add.memory.made == 2);  // a fault is tried once more
  CHECK(add.run({1, 2, 3}, {3}).end == PluginEnd::kDone);
  Bound fixed("add", "3", tensor({4}), tensor({4}));
  fixed.memory.bytes_max = 3;
  CHECK(fixed.run({1, 2, 3, 4}, {4}).text == "there is no memory for a result of 4 bytes");
}

TEST_CASE("random draws of a plug-in follow from the key alone", "[client]") {
  const std::vector<uint8_t> zeros(64);
  Bound one("add", "", tensor({-1}), tensor({-1})), other("add", "", tensor({-1}), tensor({-1}));
  const auto drawn = [&](Bound& bound, uint64_t key) {
    REQUIRE(bound.run(zeros, {64}, key).end == PluginEnd::kDone);
    return bound.memory.room;
  };
  const auto first = drawn(one, 1), second = drawn(one, 2);
  CHECK(first != second);
  CHECK(drawn(other, 2) == second);
  CHECK(drawn(other, 1) == first);
  uint64_t key = 0;  // the values of splitmix64
  CHECK(spdld_plugin_bits(&key) == 0xe220a8397b1dcdaf);
  CHECK(spdld_plugin_bits(&key) == 0x6e789e6aa1b965f4);
}

}  // namespace spdld::plugin_test
