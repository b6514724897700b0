// Arbitrary lines of a recording, and notes of arbitrary numbers: a line that is taken is written as it was, and the
// file is JSON whatever the notes say. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/cli/state/chrome_trace.h"
#include "config/text/json.h"

namespace {

using namespace spdld;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string line_of(const cli::TraceNote& note) {
  std::string line =
      std::to_string(note.kind) + " " + std::to_string(note.thread) + " " + std::to_string(note.start_ns);
  for (const uint64_t number : {note.duration_ns, note.batch, note.index, note.sample, note.value, note.failed})
    line += " " + std::to_string(number);
  return line;
}

cli::TraceHead head() {
  return {.pipeline = "p",
          .daemon = "spdld",
          .started = "",
          .kinds = {{"fetch", "fetch", "interval", true},
                    {"decode", "decode", "interval", true},
                    {"publish", "publish", "interval"},
                    {"ready", "READY", "interval"},
                    {"release", "RELEASE", "interval"},
                    {"finish", "finish", "interval"},
                    {"decode-wait", "wait", "bar", true},
                    {"decode-waiting", "samples", "level", true},
                    {"slots-free", "free", "slots"},
                    {"slots-filling", "filling", "slots"},
                    {"slots-ready", "ready", "slots"},
                    {"slots-held", "held", "slots"},
                    {"odd", "odd", "odd"}},
          .threads = {{"spdld", 1}, {"decode-0", 2}},
          .rings = {"a ring"}};
}

// Small numbers, so that notes meet one another, with a large one here and there.
cli::TraceNote note_of(const uint8_t* bytes) {
  const auto number = [](uint8_t byte) { return byte == 255 ? UINT64_MAX : uint64_t{byte} % 16; };
  cli::TraceNote note;
  note.kind = number(bytes[0]), note.thread = number(bytes[1]) % 3;
  note.start_ns = static_cast<int8_t>(bytes[2]) * (int64_t{1} << (bytes[3] % 54));
  note.duration_ns = bytes[4] == 255 ? uint64_t{1} << 60 : bytes[4];
  note.batch = number(bytes[5]), note.index = number(bytes[6]), note.sample = number(bytes[7]);
  note.value = number(bytes[8]), note.failed = bytes[9] % 2;
  return note;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  if (bytes[0] % 2 == 0) {
    const std::string line(reinterpret_cast<const char*>(bytes) + 1, size - 1);
    if (const auto note = cli::parse_trace_note(line)) require(cli::parse_trace_note(line_of(*note)).has_value());
    return 0;
  }
  std::string text;
  cli::ChromeTrace trace(head(), [&text](std::string_view piece) { text += piece; });
  for (size_t at = 1; at + 10 <= size; at += 10) {
    const cli::TraceNote note = note_of(bytes + at);
    const auto parsed = cli::parse_trace_note(line_of(note));
    require(parsed && line_of(*parsed) == line_of(note));
    trace.add(*parsed);
  }
  trace.finish(size % 3);
  const auto document = config::Json::parse(text);
  require(document && document->find("traceEvents")->size() == trace.events());
  return 0;
}
