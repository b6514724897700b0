// The place as a text: what spdld_state writes, what spdld_load_state and attach take, and all that they refuse.
#include <spdld.hpp>

#include "tests/client/session.h"

namespace spdld::state_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr const char* kFingerprint = "1-615b-c0ffee-4";

constexpr const char* kKeys = "order/shuffle=AAAAAAAAAAA output=AAAAAAAAAAB seed=AAAAAAAAAAC";

FakeScript script_of(const char* fingerprint = kFingerprint, const char* key_digests = "") {
  FakeScript script;
  script.fingerprint = fingerprint;
  script.key_digests = key_digests;
  return script;
}

std::string state_of(const test::Loader& loader) {
  char* json = nullptr;
  REQUIRE(spdld_state(loader.get(), &json) == SPDLD_OK);
  return take_text(json);
}

// A sound state of the fake daemon's pipeline with one part of its text replaced.
std::string state_with(const std::string& old_part, const std::string& new_part) {
  std::string text =
      R"({"format":1,"pipeline":"p","fingerprint":"1-615b-c0ffee-4","seed":17,"epoch":1,"step":2,"samples":8,)"
      R"("global_size":4,"world_size":1})";
  if (old_part.empty()) return text;
  const size_t at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

std::string load_error(const test::Loader& loader, const std::string& json, spdld_result expected, int anyway = 0) {
  INFO(json);
  const spdld_result result = spdld_load_state(loader.get(), json.c_str(), anyway);
  const std::string sentence = spdld_last_error();
  INFO(sentence);
  CHECK(result == expected);
  CHECK(sentence.find('\n') == std::string::npos);
  return sentence;
}

}  // namespace

TEST_CASE("a state is the position of the next batch, in JSON") {
  Attached attached(script_of());
  for (int i = 0; i < 5; ++i) next(attached.loader);
  CHECK(next_result(attached.loader) == SPDLD_END_OF_EPOCH);
  for (int i = 0; i < 2; ++i) next(attached.loader);
  CHECK(state_of(attached.loader) == state_with("", ""));
}

TEST_CASE("a loader goes on after the batch that was in hand") {
  Attached attached(script_of());
  next(attached.loader);
  const test::Batch in_hand = next(attached.loader);
  const std::string state = state_of(attached.loader);
  CHECK(number_of(next(attached.loader)) == 2);
  REQUIRE(spdld_load_state(attached.loader.get(), state.c_str(), 0) == SPDLD_OK);
  CHECK(numbers_to_the_end(attached.loader) == count_from(2, 10));
  CHECK(number_of(in_hand) == 1);
}

TEST_CASE("a state of an epoch's end begins the next epoch") {
  Attached attached(script_of());
  for (int i = 0; i < 5; ++i) next(attached.loader);
  const std::string before_the_end = state_of(attached.loader);
  CHECK(next_result(attached.loader) == SPDLD_END_OF_EPOCH);
  CHECK(state_of(attached.loader) == before_the_end);
  REQUIRE(spdld_load_state(attached.loader.get(), before_the_end.c_str(), 0) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 5);
  REQUIRE(spdld_seek(attached.loader.get(), 2, 0) == SPDLD_OK);
  const std::string end = state_of(attached.loader);
  REQUIRE(spdld_load_state(attached.loader.get(), before_the_end.c_str(), 0) == SPDLD_OK);
  REQUIRE(spdld_load_state(attached.loader.get(), end.c_str(), 0) == SPDLD_OK);
  CHECK(next_result(attached.loader) == SPDLD_END);
}

TEST_CASE("attach begins at a state, of another world size as well") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script_of());
  const std::string socket = folder.socket(), state = state_with("\"world_size\":1", "\"world_size\":6");
  spdld_attach_options options = options_for(socket);
  options.state = state.c_str();
  const test::Loader loader = attach(options);
  CHECK(numbers_to_the_end(loader) == count_from(7, 10));
}

TEST_CASE("attach refuses a state of another run, a broken one, and a second word on where to begin") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script_of("1-615b-beef-4"));
  const std::string socket = folder.socket();
  spdld_attach_options options = options_for(socket);
  spdld_loader* loader = nullptr;
  const std::string other = state_with("", "");
  options.state = other.c_str();
  CHECK(spdld_attach(&options, &loader) == SPDLD_CHANGED);
  CHECK(loader == nullptr);
  const std::string sentence = spdld_last_error();
  CHECK(sentence.find("the pipeline's spec differs") != std::string::npos);
  CHECK(sentence.find("attach without it") != std::string::npos);
  const std::string bent = state_with("c0ffee-4\",\"seed\":17", "beef-4\",\"seed\":18");
  options.state = bent.c_str();
  CHECK(spdld_attach(&options, &loader) == SPDLD_INVALID);
  options.state = "{";
  CHECK(spdld_attach(&options, &loader) == SPDLD_INVALID);
  const std::string mine = state_with("c0ffee", "beef");
  options.state = mine.c_str();
  options.step = 1;
  CHECK(spdld_attach(&options, &loader) == SPDLD_INVALID);
  CHECK(std::string(spdld_last_error()).find("not both") != std::string::npos);
  options.step = 0;
  CHECK(spdld_attach(&options, &loader) == SPDLD_OK);
  spdld_detach(loader);
}

TEST_CASE("a state of another run is refused with what differs, and taken all the same when told so") {
  Attached attached(script_of());
  next(attached.loader);
  const auto says = [&](const std::string& state, const std::string& words) {
    const std::string sentence = load_error(attached.loader, state, SPDLD_CHANGED);
    CHECK(sentence.find(words) != std::string::npos);
    CHECK(sentence.find("anyway = 1") != std::string::npos);
  };
  says(state_with("1-615b", "2-615b"), "the version of the order differs");
  says(state_with("615b", "615c"), "the data set's listing differs");
  says(state_with("615b-c0ffee", "615c-c0ffef"), "the data set's listing and the pipeline's spec differ;");
  says(state_with("1-615b-c0ffee-4", "f1"), "the fingerprints differ (f1, and 1-615b-c0ffee-4 here)");
  says(state_with("1-615b-c0ffee-4", "\\ud83d\\ude00 \\u20ac"), "(\xf0\x9f\x98\x80 \xe2\x82\xac, and");
  const std::string halves =
      state_with("c0ffee-4\",\"seed\":17,\"epoch\":1,\"step\":2,\"samples\":8,\"global_size\":4",
                 "c0ffee-6\",\"seed\":17,\"epoch\":1,\"step\":1,\"samples\":6,\"global_size\":6");
  says(halves, "the global batch size (6, and 4 here) differs");
  CHECK(number_of(next(attached.loader)) == 1);  // none of them moved it

  REQUIRE(spdld_load_state(attached.loader.get(), state_with("615b", "615c").c_str(), 1) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 7);
  REQUIRE(spdld_load_state(attached.loader.get(), halves.c_str(), 1) == SPDLD_OK);  // 6 samples: a step and a half
  CHECK(number_of(next(attached.loader)) == 6);
  const std::string beyond = state_with("c0ffee-4\",\"seed\":17,\"epoch\":1,\"step\":2,\"samples\":8",
                                        "c0ffed-4\",\"seed\":17,\"epoch\":0,\"step\":9,\"samples\":36");
  REQUIRE(spdld_load_state(attached.loader.get(), beyond.c_str(), 1) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 5);
  const std::string at_the_end =  // an epoch here has 5 steps of 4 samples
      state_with("c0ffee-4\",\"seed\":17,\"epoch\":1,\"step\":2,\"samples\":8,\"global_size\":4",
                 "c0ffee-8\",\"seed\":17,\"epoch\":0,\"step\":3,\"samples\":20,\"global_size\":8");
  REQUIRE(spdld_load_state(attached.loader.get(), at_the_end.c_str(), 1) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 5);
  load_error(attached.loader, state_with("c0ffee-4\",\"seed\":17,\"epoch\":1", "c0ffed-4\",\"seed\":17,\"epoch\":7"),
             SPDLD_INVALID, 1);
}

TEST_CASE("a state before an epoch's last step holds where other ranks divide the last steps otherwise") {
  const std::string here = "c0ffee-4", evened = "c0ffee-4.2";
  const std::string last_step = "step\":4,\"samples\":16";
  for (const bool is_evened_here : {false, true}) {
    Attached attached(script_of(is_evened_here ? "1-615b-c0ffee-4.2" : kFingerprint));
    const auto state = [&](const std::string& place) {
      std::string text = state_with("step\":2,\"samples\":8", place);
      return is_evened_here ? text : text.replace(text.find(here), here.size(), evened);
    };
    REQUIRE(spdld_load_state(attached.loader.get(), state("step\":2,\"samples\":8").c_str(), 0) == SPDLD_OK);
    CHECK(number_of(next(attached.loader)) == 7);
    const std::string sentence = load_error(attached.loader, state(last_step), SPDLD_CHANGED);
    CHECK(sentence.find("the division of an epoch's last steps among the ranks differs") != std::string::npos);
  }
}

TEST_CASE("a state is read as JSON is written, in any order") {
  Attached attached(script_of());
  const std::string escaped = state_with("\"p\"", R"("p \"q\" \\ \/ \b\f\n\r\t \u00e4 \u20AC \ud83d\ude00 ä")");
  CHECK(spdld_load_state(attached.loader.get(), escaped.c_str(), 0) == SPDLD_OK);
  const std::string turned =
      "\r\n{ \"world_size\" : 3 , \"global_size\":4,\"samples\":8,\"step\":2,\"epoch\":1,\"seed\":17,\n"
      "\"fingerprint\":\"1-\\u0036\\u00315b-c0ffee-4\",\"pipeline\":\"\",\"format\":1 }\n";
  CHECK(spdld_load_state(attached.loader.get(), turned.c_str(), 0) == SPDLD_OK);
  CHECK(number_of(next(attached.loader)) == 7);
}

TEST_CASE("a damaged state is refused with one sentence") {
  Attached attached(script_of());
  const std::string sound = state_with("", "");
  for (size_t size = 0; size < sound.size(); ++size) {  // cut off anywhere
    load_error(attached.loader, sound.substr(0, size), SPDLD_INVALID);
  }
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"1}", "1}}"},
      {"1}", "1} x"},
      {"1}", "1,}"},
      {"{", "[{"},
      {"{", ""},
      {"\"epoch\"", "epoch"},
      {"\"epoch\":1", "\"epoch\":-1"},
      {"\"epoch\":1", "\"epoch\":+1"},
      {"\"epoch\":1", "\"epoch\":01"},
      {"\"epoch\":1", "\"epoch\":1.0"},
      {"\"epoch\":1", "\"epoch\":1e0"},
      {"\"epoch\":1", "\"epoch\":0x1"},
      {"\"epoch\":1", "\"epoch\":true"},
      {"\"epoch\":1", "\"epoch\":null"},
      {"\"epoch\":1", "\"epoch\":[1]"},
      {"\"epoch\":1", "\"epoch\":{}"},
      {"\"epoch\":1", "\"epoch\":\"1\""},
      {"\"epoch\":1", "\"epoch\":"},
      {"\"epoch\":1", "\"epoch\" 1"},
      {"\"epoch\":1", "\"epoch\":1 1"},
      {"\"epoch\":1", "\"epoch\":1,\"epoch\":1"},
      {"\"epoch\":1", "\"epoch\":1,\"more\":1"},
      {"\"epoch\":1", "\"epoch\":18446744073709551616"},
      {"\"epoch\":1", "\"epoch\":18446744073709551615"},
      {"\"epoch\":1", "\"epoch\":9223372036854775808"},
      {"\"epoch\":1", "\"epoch\":3"},  // there are two
      {"\"epoch\":1,", ""},
      {"\"pipeline\":\"p\",", ""},
      {"\"p\"", "5"},
      {"\"p\"", "\"p"},
      {"\"p\"", "\"\\u0000\""},
      {"\"p\"", "\"\\ud83d\""},
      {"\"p\"", "\"\\ud83d\\u0041\""},
      {"\"p\"", "\"\\ude00\""},
      {"\"p\"", "\"\\u12g4\""},
      {"\"p\"", "\"\\x41\""},
      {"\"p\"", "\"a\tb\""},
      {"\"p\"", "\"" + std::string(5000, 'p') + "\""},
      {"\"p\"", "\"" + std::string(100'000, 'p') + "\""},
      {"1-615b-c0ffee-4", ""},
      {"\"seed\":17", "\"seed\":18"},
      {"\"samples\":8", "\"samples\":9"},
      {"\"samples\":8", "\"samples\":4"},
      {"\"samples\":8", "\"samples\":0"},
      {"\"step\":2,\"samples\":8", "\"step\":5,\"samples\":20"},
      {"\"step\":2,\"samples\":8", "\"step\":9223372036854775808,\"samples\":0"},
      {"\"global_size\":4", "\"global_size\":0"},
      {"\"samples\":8,\"global_size\":4", "\"samples\":4,\"global_size\":2"},
      {"\"world_size\":1", "\"world_size\":0"},
      {"\"format\":1,", ""},
      {"\"format\":1", "\"format\":0"},
      {"\"format\":1", "\"format\":\"1\""},
  };
  for (const auto& [old_part, new_part] : faults) {
    load_error(attached.loader, state_with(old_part, new_part), SPDLD_INVALID);
  }
  std::string many = "{\"a\":1";
  for (int i = 0; i < 100; ++i) many += ",\"a\":1";
  load_error(attached.loader, many + "}", SPDLD_INVALID);
  CHECK(number_of(next(attached.loader)) == 0);
}

TEST_CASE("a state of a higher format is not called damaged") {
  Attached attached(script_of());
  for (const std::string& newer : {state_with("\"format\":1", "\"format\":2"),
                                   state_with("\"format\":1", "\"format\":2,\"sources\":[{\"weight\":0.5}]")}) {
    const std::string sentence = load_error(attached.loader, newer, SPDLD_INVALID);
    CHECK(sentence.find("format 2") != std::string::npos);
    CHECK(sentence.find("update it") != std::string::npos);
  }
}

TEST_CASE("a state holds the digests of keys, so that the sentence about another run names the keys that differ") {
  Attached first(script_of(kFingerprint, kKeys));
  const std::string state = state_of(first.loader);
  CHECK(state.find("\"format\":1,") != std::string::npos);
  CHECK(state.find("\"keys\":\"" + std::string(kKeys) + "\"") != std::string::npos);
  CHECK(spdld_load_state(first.loader.get(), state.c_str(), 0) == SPDLD_OK);
  const Attached other(script_of("1-615b-beef-4", "order/shuffle=AAAAAAAAAAA rows=AAAAAAAAAAA seed=AAAAAAAAAAD"));
  CHECK(load_error(other.loader, state, SPDLD_CHANGED)
            .find("the pipeline's spec differs (seed has another value; rows is new; output is gone);") !=
        std::string::npos);
  const Attached data(script_of("1-beef-c0ffee-4", kKeys));
  CHECK(load_error(data.loader, state, SPDLD_CHANGED)
            .find("the data set's listing differs (and no key of the pipeline);") != std::string::npos);
  // Where the terms or the state lack them.
  const Attached without(script_of("1-615b-beef-4"));
  CHECK(load_error(without.loader, state, SPDLD_CHANGED).find("the pipeline's spec differs;") != std::string::npos);
  CHECK(load_error(other.loader, state_with("", ""), SPDLD_CHANGED).find("the pipeline's spec differs;") !=
        std::string::npos);
}

TEST_CASE("digests of keys that are none are refused in a state, and left out where a daemon gives them") {
  Attached attached(script_of(kFingerprint, kKeys));
  const std::string state = state_of(attached.loader);
  const auto with = [&](const std::string& keys) {
    std::string text = state;
    return text.replace(text.find(kKeys), std::string(kKeys).size(), keys);
  };
  for (const std::string& wrong : {with(""), with("seed"), with("seed=AAAAAAAAAAA order=AAAAAAAAAAA"), with("\\u0007"),
                                   with("a=AAAAAAAAAAA" + std::string(4080, ' '))})
    CHECK(load_error(attached.loader, wrong, SPDLD_INVALID).find("keys") != std::string::npos);
  load_error(attached.loader, with(std::string(5000, 'a')), SPDLD_INVALID);
  const Attached odd(script_of(kFingerprint, "seed"));
  CHECK(state_of(odd.loader).find("keys") == std::string::npos);
  Folder folder;
  const FakeDaemon hostile(folder.socket(), script_of(kFingerprint, "seed=\x1b"));
  const std::string socket = folder.socket();
  const spdld_attach_options options = options_for(socket);
  spdld_loader* loader = nullptr;
  CHECK(spdld_attach(&options, &loader) == SPDLD_INTERNAL);
  CHECK(std::string(spdld_last_error()).find("digests of keys") != std::string::npos);
}

TEST_CASE("states want their arguments, and a replica loads them as any other") {
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script_of());
  const std::string socket = folder.socket(), sound = state_with("", "");
  spdld_attach_options options = options_for(socket);
  options.readers = 2;
  const test::Loader loader = attach(options);
  CHECK(spdld_state(loader.get(), nullptr) == SPDLD_INVALID);
  char* json = nullptr;
  CHECK(spdld_state(nullptr, &json) == SPDLD_INVALID);
  CHECK(spdld_load_state(loader.get(), nullptr, 0) == SPDLD_INVALID);
  CHECK(spdld_load_state(nullptr, sound.c_str(), 0) == SPDLD_INVALID);
  CHECK(spdld_load_state(loader.get(), sound.c_str(), 0) == SPDLD_OK);
}

TEST_CASE("a state goes through a restart of the daemon, and through the C++ interface") {
  FakeScript script = script_of();
  script.end_after = 3;
  Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  spdld::Loader loader(options_for(socket));
  std::string state;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(loader.next().result == SPDLD_OK);
    if (i == 1) state = loader.state();
  }
  CHECK(daemon.counts().attaches == 2);
  loader.load_state(state);
  CHECK(loader.next().batch.info().step == 2);
  CHECK_THROWS_AS(loader.load_state("{}"), spdld::Exception);
  state.replace(state.find("615b"), 4, "615c");
  CHECK_THROWS_AS(loader.load_state(state), spdld::Exception);
  loader.load_state(state, true);
  CHECK(loader.tell() == std::pair<uint64_t, uint64_t>(0, 2));
  loader.set_epoch(1);
  CHECK(loader.next().batch.info().epoch == 1);
}

}  // namespace spdld::state_test
