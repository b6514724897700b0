#include <limits>

#include "tests/client/session.h"

namespace spdld::hostile_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

// The result of the first next, from a daemon that sends this.
spdld_result next_of(std::function<void(FakeReady&)> tamper) {
  FakeScript script;
  script.tamper = std::move(tamper);
  const Attached attached(script);
  const spdld_result result = next_result(attached.loader, 2000);
  if (result == SPDLD_INTERNAL) {
    CHECK(std::string(spdld_last_error()).find("broke the protocol") != std::string::npos);
    CHECK(next_result(attached.loader, 0) == SPDLD_INTERNAL);  // and is not asked again
    CHECK(attached.daemon.counts().attaches == 1);
  }
  return result;
}

struct Hostile {
  const char* what;
  std::function<void(FakeReady&)> tamper;
};

const Hostile kHostile[] = {
    {"another attachment", [](FakeReady& ready) { ready.attachment = 8; }},
    {"a slot beyond the ring", [](FakeReady& ready) { ready.slot = 3; }},
    {"a slot far beyond the ring", [](FakeReady& ready) { ready.slot = ~0u; }},
    {"a run to come", [](FakeReady& ready) { ready.run = 1; }},
    {"a step too far", [](FakeReady& ready) { ready.step += 1; }},
    {"another epoch", [](FakeReady& ready) { ready.epoch = kHuge; }},
    {"no position", [](FakeReady& ready) { ready.has_position = false; }},
    {"more samples than a batch has", [](FakeReady& ready) { ready.valid = 5; }},
    {"more padded samples than samples", [](FakeReady& ready) { ready.padded = 5; }},
    {"very many samples", [](FakeReady& ready) { ready.valid = kHuge; }},
    {"fewer rows than samples", [](FakeReady& ready) { ready.tensors[1].shape[0] = 3; }},
    {"no name", [](FakeReady& ready) { ready.tensors[1].name.clear(); }},
    {"a long name", [](FakeReady& ready) { ready.tensors[1].name.assign(129, 'n'); }},
    {"a NUL in a name", [](FakeReady& ready) { ready.tensors[1].name.push_back('\0'); }},
    {"a control character in a name", [](FakeReady& ready) { ready.tensors[1].name += "\x1b[m"; }},
    {"a name that is no UTF-8", [](FakeReady& ready) { ready.tensors[1].name += "\xff"; }},
    {"an unknown type", [](FakeReady& ready) { ready.tensors[1].dtype = static_cast<proto::DType>(15); }},
    {"no dimensions", [](FakeReady& ready) { ready.tensors[1].shape.clear(); }},
    {"nine dimensions", [](FakeReady& ready) { ready.tensors[1].shape.assign(9, 4); }},
    {"a dimension beyond int64", [](FakeReady& ready) { ready.tensors[1].shape[1] = kHuge; }},
    {"a size that wraps to small",
     [](FakeReady& ready) {
       ready.tensors[1].shape = {4, 1ull << 62, 4};
     }},
    {"a size that wraps to zero",
     [](FakeReady& ready) {
       ready.tensors[1].shape = {1ull << 32, 1ull << 32};
     }},
    {"one byte beyond",
     [](FakeReady& ready) {
       ready.tensors[1].shape = {4, (4096 - 128) / 4 + 1};
     }},
    {"elements beyond", [](FakeReady& ready) { ready.tensors[0].shape = {513}; }},
    {"an offset beyond", [](FakeReady& ready) { ready.tensors[1].offset = 4096; }},
    {"an offset that wraps", [](FakeReady& ready) { ready.tensors[1].offset = kHuge - 127; }},
    {"an offset that is not aligned", [](FakeReady& ready) { ready.tensors[1].offset = 64; }},
    {"too few strides", [](FakeReady& ready) { ready.tensors[1].strides = {3}; }},
    {"a stride beyond",
     [](FakeReady& ready) {
       ready.tensors[1].strides = {1322, 1};
     }},
    {"a stride that wraps",
     [](FakeReady& ready) {
       ready.tensors[1].strides = {1ull << 62, 1};
     }},
    {"a stride beyond int64",
     [](FakeReady& ready) {
       ready.tensors[1].strides = {kHuge, 1};
     }},
    {"more unsupported samples than bad ones", [](FakeReady& ready) { ready.unsupported = 2; }},
    {"more dropped samples than it has and lacks", [](FakeReady& ready) { ready.dropped = ready.too_long = 1; }},
    {"counts that wrap", [](FakeReady& ready) { ready.dropped = ready.too_long = ~0u; }},
    {"more absent samples than a step has", [](FakeReady& ready) { ready.absent = 1; }},
    {"absent samples without an end", [](FakeReady& ready) { ready.absent = ~0u; }},
    {"a reason for more samples than are bad", [](FakeReady& ready) { ready.bad = {{.reason = "r", .count = 2}}; }},
    {"counts of reasons that wrap", [](FakeReady& ready) { ready.bad.assign(3, {.reason = "r", .count = ~0u}); }},
    {"a reason of no sample", [](FakeReady& ready) { ready.bad = {{.reason = "r", .count = 0}}; }},
    {"an unknown kind of reason",
     [](FakeReady& ready) {
       constexpr auto kUnknown = static_cast<proto::BadKind>(static_cast<int>(proto::BadKind::MAX) + 1);
       ready.bad = {{.kind = kUnknown, .reason = "r"}};
     }},
    {"17 reasons",
     [](FakeReady& ready) {
       ready.substituted = 17;
       ready.bad.assign(17, {.reason = "r"});
     }},
    {"65 tensors", [](FakeReady& ready) { ready.tensors.resize(65, ready.tensors[0]); }},
};

}  // namespace

TEST_CASE("a descriptor that reaches out of its slot or its ring is refused") {
  for (const Hostile& hostile : kHostile) {
    INFO(hostile.what);
    CHECK(next_of(hostile.tamper) == SPDLD_INTERNAL);
  }
}

TEST_CASE("what just fits is taken") {
  CHECK(next_of([](FakeReady& ready) { ready.tensors[1].shape = {4, (4096 - 128) / 4}; }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.tensors[0].shape = {512}; }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.tensors[1].strides = {1321, 1}; }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.tensors.clear(); }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.valid = 0; }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.tensors[1].shape = {4, 1, 1, 1, 1, 1, 1, 1}; }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) { ready.tensors[1].name.assign(128, 'n'); }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) {
          ready.tensors.resize(64, ready.tensors[0]);
          for (size_t i = 0; i < 64; ++i) ready.tensors[i].name = "t" + std::to_string(i);
        }) == SPDLD_OK);
  CHECK(next_of([](FakeReady& ready) {
          ready.substituted = 16;
          ready.bad.assign(16, {.reason = "r"});
        }) == SPDLD_OK);
}

TEST_CASE("a slot that is still held is not taken twice") {
  FakeScript script;
  script.tamper = [](FakeReady& ready) { ready.slot = 0; };
  const Attached attached(script);
  const Batch held = next(attached.loader);
  CHECK(next_result(attached.loader) == SPDLD_INTERNAL);
  CHECK(std::string(spdld_last_error()).find("still holds") != std::string::npos);
}

TEST_CASE("bytes that are no message end the loader, not the process") {
  FakeScript script;
  script.end_after = 2;
  script.end = FakeScript::End::kGarbage;
  const Attached attached(script);
  CHECK(number_of(next(attached.loader)) == 0);
  CHECK(number_of(next(attached.loader)) == 1);
  CHECK(next_result(attached.loader) == SPDLD_INTERNAL);
  CHECK(spdld_seek(attached.loader.get(), 0, 0) == SPDLD_INTERNAL);
}

}  // namespace spdld::hostile_test
