#include "proto/key_digests.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "proto/text.h"

namespace spdld::key_digests_test {

using namespace spdld::proto;
using Keys = std::vector<KeyDigest>;

namespace {

std::string written(const std::map<std::string, uint64_t>& keys) {
  Keys list;
  for (const auto& [path, digest] : keys) list.push_back({path, digest});
  const auto text = write_key_digests(list);
  REQUIRE(text);
  return *text;
}

// Of spec and listing alike, or of the listing alone.
std::string note(const std::map<std::string, uint64_t>& mine, const std::map<std::string, uint64_t>& other,
                 const char* fingerprint = "1-b-c-4") {
  return key_note(*fingerprint_difference("1-a-b-4", fingerprint), written(mine), written(other));
}

}  // namespace

TEST_CASE("digests of keys are a text that leaves out what paths share, and come back from it") {
  const Keys keys = {{"batch/last", 0},
                     {"batch/last-2", UINT64_MAX},
                     {"output", 1},
                     {"output/image/ops/crop/size", 2},
                     {"output/image/ops/crop[2]/size", 3},
                     {"seed", 0x0123456789ABCDEF}};
  const auto text = write_key_digests(keys);
  REQUIRE(text);
  CHECK(*text ==
        "batch/last=AAAAAAAAAAA /last-2=P__________ output=AAAAAAAAAAB output/image/ops/crop/size=AAAAAAAAAAC "
        "///crop[2]/size=AAAAAAAAAAD seed=AEjRWeJq83v");
  CHECK(read_key_digests(*text) == keys);
  CHECK(text_fault(TextKind::kKeyDigests, *text).empty());
  CHECK(write_key_digests({}) == "");
  CHECK(read_key_digests("") == Keys());
}

TEST_CASE("random digests of keys come back from their text") {
  std::mt19937_64 random(6);
  const std::vector<std::string> steps = {"a", "a-b", "b.c", "ops", "crop[2]", "Z", "0"};
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, uint64_t> drawn;
    for (uint64_t count = random() % 40; count > 0; --count) {
      std::string path = steps[random() % steps.size()];
      for (uint64_t depth = random() % 4; depth > 0; --depth) path += '/' + steps[random() % steps.size()];
      drawn[path] = random();
    }
    Keys keys;
    for (const auto& [path, digest] : drawn) keys.push_back({path, digest});
    const auto text = write_key_digests(keys);
    REQUIRE(text);
    REQUIRE(read_key_digests(*text) == keys);
  }
}

TEST_CASE("too many keys, too many bytes and odd paths are not written") {
  Keys keys;
  for (int i = 1000; i < 1000 + 256; ++i) keys.push_back({std::to_string(i), 1});  // of 16 bytes each with the blank
  CHECK(write_key_digests(keys) == std::nullopt);
  keys.resize(240);
  const auto text = write_key_digests(keys);
  REQUIRE(text);
  CHECK(text->size() <= rule_of(TextKind::kKeyDigests).bytes_max);
  CHECK(write_key_digests({{std::string(257, 'a'), 1}}) == std::nullopt);
  for (const char* path : {"", "/", "a/", "/a", "a//b", "a b", "a=b", "\xc3\xa4"})
    CHECK(write_key_digests({{path, 1}}) == std::nullopt);
}

TEST_CASE("a text of another form has no digests of keys") {
  const std::string digest = "=AAAAAAAAAAA";
  CHECK(read_key_digests("a" + digest));
  for (const std::string text : {" ",
                                 "a",
                                 "a=",
                                 "=AAAAAAAAAAA",
                                 "a=AAAAAAAAAA",
                                 "a=AAAAAAAAAAAA",
                                 "a=QAAAAAAAAAA",
                                 "a=AAAAA.AAAAA",
                                 "/a=AAAAAAAAAAA",
                                 "a=AAAAAAAAAAA ",
                                 " a=AAAAAAAAAAA",
                                 "a=AAAAAAAAAAA  b=AAAAAAAAAAA",
                                 "b=AAAAAAAAAAA a=AAAAAAAAAAA",
                                 "a=AAAAAAAAAAA a=AAAAAAAAAAA",
                                 "a/b=AAAAAAAAAAA a/c=AAAAAAAAAAA",
                                 "a/b=AAAAAAAAAAA //c=AAAAAAAAAAA",
                                 "a/b=AAAAAAAAAAA /=AAAAAAAAAAA",
                                 "a//b=AAAAAAAAAAA",
                                 "a/=AAAAAAAAAAA",
                                 "a=AAAAAAAAAAA b\n=AAAAAAAAAAA",
                                 "a+b=AAAAAAAAAAA"}) {
    INFO(text);
    CHECK_FALSE(read_key_digests(text));
  }
  CHECK_FALSE(read_key_digests("a" + digest + std::string(5000, ' ')));
  std::string many = "a" + digest;
  for (int i = 0; i < 10'000; ++i) many += " /" + std::to_string(i) + digest;
  CHECK_FALSE(read_key_digests(many));
}

TEST_CASE("a note names the keys that have other values, are new and are gone") {
  const std::map<std::string, uint64_t> plain = {{"batch/last", 1},
                                                 {"order/shuffle", 2},
                                                 {"output", 3},
                                                 {"output/image/from", 4},
                                                 {"output/image/ops", 5},
                                                 {"output/image/ops/crop/size", 6},
                                                 {"output/image/ops/crop/place", 7},
                                                 {"seed", 8}};
  const auto with = [&](const std::map<std::string, uint64_t>& more, const std::vector<std::string>& less = {}) {
    std::map<std::string, uint64_t> keys = plain;
    for (const auto& [path, digest] : more) keys[path] = digest;
    for (const std::string& path : less) keys.erase(path);
    return keys;
  };
  CHECK(note(with({{"seed", 9}}), plain) == " (seed has another value)");
  CHECK(note(with({{"seed", 9}, {"output/image/ops/crop/size", 9}}), plain) ==
        " (output.image.ops.crop.size and seed have other values)");
  // A new operation is one key, however many it has, and the list of operations has another value.
  const auto blurred =
      with({{"output/image/ops", 9}, {"output/image/ops/blur/sigma", 1}, {"output/image/ops/blur/p", 1}});
  CHECK(note(blurred, plain) == " (output.image.ops has another value; output.image.ops.blur is new)");
  CHECK(note(plain, blurred) == " (output.image.ops has another value; output.image.ops.blur is gone)");
  CHECK(note(with({{"rows/kind", 1}, {"rows/size", 1}, {"order/repeats", 1}}, {"seed"}), plain) ==
        " (order.repeats and rows are new; seed is gone)");
  std::map<std::string, uint64_t> others;
  for (const auto& [path, digest] : plain) others[path] = digest + 100;
  CHECK(note(others, plain) ==
        " (batch.last, order.shuffle, output, output.image.from, output.image.ops and 3 more have other values)");
}

TEST_CASE("a note says where the data alone differs, and says nothing that it can't know") {
  const std::map<std::string, uint64_t> keys = {{"order/shuffle", 2}, {"seed", 8}};
  CHECK(note(keys, keys) == "");
  CHECK(note(keys, keys, "1-c-b-4") == " (and no key of the pipeline)");
  CHECK(note(keys, keys, "1-a_x-b-4") == " (and no key of the pipeline)");
  CHECK(note(keys, keys, "1-c-b-8") == "");
  CHECK(note({{"order/shuffle", 2}, {"seed", 9}}, keys, "1-c-b-4") == " (seed has another value)");
  const auto difference = *fingerprint_difference("1-a-b-4", "1-b-b-4");
  CHECK(key_note(difference, "", written(keys)) == "");
  CHECK(key_note(difference, written(keys), "") == "");
  CHECK(key_note(difference, written(keys), "x") == "");
  // One side tells an operation as a whole, and the other one its keys: nobody knows whether these are the same.
  CHECK(note({{"ops", 1}, {"ops/crop", 5}, {"seed", 8}}, {{"ops", 1}, {"ops/crop/size", 5}, {"seed", 9}}) ==
        " (seed has another value)");
}

}  // namespace spdld::key_digests_test
