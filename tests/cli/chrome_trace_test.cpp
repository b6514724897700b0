#include "client/cli/state/chrome_trace.h"

#include <catch2/catch.hpp>

#include "config/text/json.h"

using namespace spdld;
using cli::ChromeTrace;
using cli::parse_trace_note;
using cli::TraceHead;
using cli::TraceNote;
using config::Json;

namespace {

enum NoteNumber : uint64_t {
  kFetch,
  kDecode,
  kPublish,
  kReady,
  kRelease,
  kWait,
  kLevel,
  kFree,
  kFilling,
  kReadySlots,
  kHeld,
  kOdd
};

TraceHead head() {
  return {.pipeline = "a \"train\"",
          .daemon = "spdld 0.1.0",
          .started = "2026-01-02T03:04:05Z",
          .pid = 100,
          .start_ns = 12345,
          .seconds = 1.5,
          .kinds = {{"fetch", "fetch", "interval", true},
                    {"decode", "decode", "interval", true},
                    {"publish", "publish", "interval"},
                    {"ready", "READY", "interval"},
                    {"release", "RELEASE", "interval"},
                    {"decode-wait", "wait for a decode thread", "bar", true},
                    {"decode-waiting", "samples at decode", "level", true},
                    {"slots-free", "free", "slots"},
                    {"slots-filling", "filling", "slots"},
                    {"slots-ready", "ready", "slots"},
                    {"slots-held", "held", "slots"},
                    {"odd", "odd", "of-a-later-daemon"}},
          .threads = {{"spdld", 100}, {"decode-0", 101}, {"fetch-0", 102}},
          .rings = {"group g, rank 0"}};
}

// The file's text of these notes, as JSON.
Json trace_of(const std::vector<TraceNote>& notes, uint64_t dropped = 0) {
  std::string text;
  ChromeTrace trace(head(), [&](std::string_view piece) { text += piece; });
  for (const TraceNote& note : notes) trace.add(note);
  trace.finish(dropped);
  const auto json = Json::parse(text);
  REQUIRE(json);
  CHECK(json->find("traceEvents")->size() == trace.events());
  return *json;
}

std::vector<Json> events_of(const Json& trace, const std::string& phase, const std::string& name = {}) {
  std::vector<Json> events;
  for (const Json& event : *trace.find("traceEvents"))
    if (event.find("ph")->text() == phase && (name.empty() || event.find("name")->text() == name))
      events.push_back(event);
  return events;
}

double at(const Json& event, const char* key) { return event.find(key)->number(); }
double arg(const Json& event, const char* key) { return event.find("args")->find(key)->number(); }

}  // namespace

TEST_CASE("chrome_trace: a note is nine numbers, and nothing else is one") {
  const auto note = parse_trace_note("1 2 -3 4 5 6 7 8 1");
  REQUIRE(note);
  CHECK(note->kind == 1);
  CHECK(note->thread == 2);
  CHECK(note->start_ns == -3);
  CHECK(note->duration_ns == 4);
  CHECK(note->batch == 5);
  CHECK(note->index == 6);
  CHECK(note->sample == 7);
  CHECK(note->value == 8);
  CHECK(note->failed == 1);
  for (const char* wrong :
       {"", "1", "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8 ", "1 2 3 4 5 6 7 8 9 ", "1 2 3 4 5 6 7 8 9 10",
        "a 2 3 4 5 6 7 8 9", "-1 2 3 4 5 6 7 8 9", "1  2 3 4 5 6 7 8 9", "1 2 3.5 4 5 6 7 8 9",
        "1 2 3 4 5 6 7 8 18446744073709551616", "1 2 9223372036854775807 4 5 6 7 8 9",
        "1 2 -9223372036854775808 4 5 6 7 8 9", "1 2 3 18446744073709551615 5 6 7 8 9"}) {
    INFO(wrong);
    CHECK_FALSE(parse_trace_note(wrong));
  }
}

TEST_CASE("chrome_trace: intervals lie in their threads, in microseconds") {
  const Json trace =
      trace_of({{kFetch, 2, 1'234'567, 1'001, 9, 3, 77, 5000, 0}, {kDecode, 1, 2'000'000, 5, 9, 3, 77, 0, 1}});
  const auto fetch = events_of(trace, "X", "fetch").at(0), decode = events_of(trace, "X", "decode").at(0);
  CHECK(at(fetch, "ts") == Approx(1234.567).epsilon(1e-12));
  CHECK(at(fetch, "dur") == Approx(1.001).epsilon(1e-12));
  CHECK(at(fetch, "pid") == 100);
  CHECK(at(fetch, "tid") == 102);
  CHECK(arg(fetch, "batch") == 9);
  CHECK(arg(fetch, "index") == 3);
  CHECK(arg(fetch, "sample") == 77);
  CHECK(arg(fetch, "bytes") == 5000);
  CHECK_FALSE(fetch.find("args")->contains("failed"));
  CHECK(at(decode, "tid") == 101);
  CHECK(decode.find("args")->find("failed")->flag());
  std::vector<std::string> names;
  for (const Json& event : events_of(trace, "M", "thread_name"))
    names.push_back(event.find("args")->find("name")->text());
  CHECK(names == std::vector<std::string>{"control", "decode-0", "fetch-0"});
  CHECK(events_of(trace, "M", "process_name").at(0).find("args")->find("name")->text() ==
        "spdld, pipeline a \"train\"");
  CHECK(trace.find("otherData")->find("start_ns")->count() == 12345);
  CHECK(trace.find("otherData")->find("dropped")->count() == 0);
}

TEST_CASE("chrome_trace: what began earlier is cut at the beginning, and no interval is without length") {
  const Json trace = trace_of({{kDecode, 1, -500, 2'500, 1, 0, 0, 0, 0}, {kDecode, 1, 9'000, 0, 1, 1, 0, 0, 0}});
  const auto intervals = events_of(trace, "X");
  CHECK(at(intervals.at(0), "ts") == 0);
  CHECK(at(intervals.at(0), "dur") == 2);
  CHECK(at(intervals.at(1), "dur") == Approx(0.001));
}

TEST_CASE("chrome_trace: flows lead from a fetch by the decode to the batch, and from there to the RELEASE") {
  // The notes of one thread come together, so a batch's end comes before its samples.
  const Json trace = trace_of({{kReady, 0, 50'000, 100, 9, 1, 0, 0, 0},
                               {kRelease, 0, 90'000, 100, 9, 1, 0, 0, 0},
                               {kPublish, 1, 40'000, 100, 9, 0, 0, 0, 0},
                               {kDecode, 1, 20'000, 100, 9, 0, 5, 0, 0},
                               {kDecode, 1, 30'000, 100, 9, 1, 6, 0, 0},
                               {kFetch, 2, 10'000, 100, 9, 0, 5, 1, 0}});
  const auto times = [&](const char* phase, const char* name) {
    std::vector<double> list;
    for (const Json& event : events_of(trace, phase, name)) list.push_back(at(event, "ts"));
    return list;
  };
  CHECK(times("s", "sample") == std::vector<double>{10, 30});  // of sample 5, and of sample 6, which nobody fetched
  CHECK(times("t", "sample") == std::vector<double>{20});
  CHECK(times("f", "sample") == std::vector<double>{40, 40});
  CHECK(times("s", "batch") == std::vector<double>{40});
  CHECK(times("t", "batch") == std::vector<double>{50});
  CHECK(times("f", "batch") == std::vector<double>{90});
  const auto of_sample = events_of(trace, "s", "sample");
  CHECK(at(of_sample[0], "id") != at(of_sample[1], "id"));
  CHECK(at(of_sample[0], "tid") == 102);
  CHECK(at(events_of(trace, "f", "batch").at(0), "tid") == 100);
  CHECK(events_of(trace, "f", "batch").at(0).find("bp")->text() == "e");
  // The time with the trainer, from READY's end to RELEASE.
  CHECK(times("b", "batch is with the trainer") == std::vector<double>{50.1});
  CHECK(times("e", "batch is with the trainer") == std::vector<double>{90});
}

TEST_CASE("chrome_trace: a batch that is not given back ends its flow at READY, and readers have flows of their own") {
  const Json trace = trace_of({{kReady, 0, 50'000, 100, 9, 1, 0, 0, 0},
                               {kReady, 0, 51'000, 100, 9, 2, 0, 0, 0},
                               {kRelease, 0, 60'000, 100, 9, 2, 0, 0, 0},
                               {kRelease, 0, 70'000, 100, 8, 1, 0, 0, 0},  // its READY was before the recording
                               {kPublish, 1, 40'000, 100, 9, 0, 0, 0, 0}});
  const auto ends = events_of(trace, "f", "batch");
  REQUIRE(ends.size() == 2);
  CHECK(at(ends[0], "ts") == 50);
  CHECK(at(ends[1], "ts") == 60);
  CHECK(events_of(trace, "s", "batch").size() == 2);
  CHECK(events_of(trace, "b", "batch is with the trainer").size() == 1);
}

TEST_CASE("chrome_trace: waits are bars, and levels are counters") {
  const Json trace = trace_of({{kWait, 1, 1'000, 500, 9, 3, 77, 0, 0},
                               {kLevel, 0, 2'000, 0, 0, 0, 0, 12, 0},
                               {kFree, 0, 3'000, 0, 0, 0, 0, 1, 0},
                               {kFilling, 0, 3'000, 0, 0, 0, 0, 2, 0},
                               {kReadySlots, 0, 3'000, 0, 0, 0, 0, 3, 0},
                               {kHeld, 0, 3'000, 0, 0, 0, 0, 4, 0}});
  CHECK(events_of(trace, "X").empty());
  const auto begin = events_of(trace, "b").at(0), end = events_of(trace, "e").at(0);
  CHECK(begin.find("name")->text() == "wait for a decode thread");
  CHECK(at(begin, "ts") == 1);
  CHECK(at(end, "ts") == 1.5);
  CHECK(at(begin, "id") == at(end, "id"));
  CHECK(begin.find("cat")->text() == end.find("cat")->text());
  CHECK(arg(events_of(trace, "C", "samples at decode").at(0), "now") == 12);
  const auto slots = events_of(trace, "C", "slots of group g, rank 0");
  REQUIRE(slots.size() == 1);
  CHECK(arg(slots[0], "free") == 1);
  CHECK(arg(slots[0], "filling") == 2);
  CHECK(arg(slots[0], "ready") == 3);
  CHECK(arg(slots[0], "held") == 4);
}

TEST_CASE("chrome_trace: notes that the head does not name are left out, and dropped ones are told") {
  const Json trace = trace_of({{kOdd, 1, 1, 1, 1, 1, 1, 1, 0},
                               {99, 1, 1, 1, 1, 1, 1, 1, 0},
                               {kDecode, 3, 1, 1, 1, 1, 1, 1, 0},
                               {kHeld, 0, 1, 1, 1, 1, 1, 1, 0}},
                              7);
  CHECK(events_of(trace, "X").empty());
  CHECK(events_of(trace, "C").empty());
  CHECK(events_of(trace, "i").at(0).find("name")->text() == "7 notes were dropped: the trace is not whole");
  CHECK(trace.find("otherData")->find("dropped")->count() == 7);
}

TEST_CASE("chrome_trace: a long trace is written piece by piece") {
  size_t pieces = 0, longest = 0;
  ChromeTrace trace(head(), [&](std::string_view piece) { pieces++, longest = std::max(longest, piece.size()); });
  for (uint64_t i = 0; i < 50'000; i++)
    trace.add({kDecode, 1, static_cast<int64_t>(1000 * i), 10, 1 + i / 100, i % 100, i, 0, 0});
  trace.finish(0);
  CHECK(trace.count("decode") == 50'000);
  CHECK(trace.count("fetch") == 0);
  CHECK(pieces > 5);
  CHECK(longest < 2u << 20);
}
