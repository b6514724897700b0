// A recording of the daemon (PROTOCOL.md, the topic `trace`) as a file in Chrome's trace format, which Perfetto
// (https://ui.perfetto.dev) and chrome://tracing open. The format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// Each thread has a line with its intervals: the work of stages, finish, publish, READY, RELEASE. Waits, work
// elsewhere, and batches that are filled, copied and held are bars apart from the threads. Queues, bytes and slots by
// state are counters. Flows lead from a sample's first stage by the others to its batch, and from a batch by its READY
// to its RELEASE. The daemon says which kinds of notes there are.
//
// The events are written as the notes come, and the flows at the end, since their notes come from several threads.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::cli {

struct TraceKind {
  std::string name, shown, form;  // as PROTOCOL.md has them
  bool is_of_sample = false;
};

struct TraceHead {
  std::string pipeline, daemon, started;
  int64_t pid = 0;
  uint64_t start_ns = 0;  // of the daemon's CLOCK_MONOTONIC
  double seconds = 0;
  std::vector<TraceKind> kinds;  // of notes, by number
  struct Thread {
    std::string name;
    int64_t id = 0;
  };
  std::vector<Thread> threads;
  std::vector<std::string> rings;  // for people
};

// One line of the daemon's answer.
struct TraceNote {
  uint64_t kind = 0, thread = 0;
  int64_t start_ns = 0;  // since the recording began
  uint64_t duration_ns = 0, batch = 0, index = 0, sample = 0, value = 0, failed = 0;
};
// Nothing where the line is no note.
std::optional<TraceNote> parse_trace_note(std::string_view line);

class ChromeTrace {
 public:
  using Write = std::function<void(std::string_view)>;

  // `write` gets the file's text, piece by piece.
  ChromeTrace(TraceHead head, Write write);

  // Notes of a kind or a thread that the head does not have, or of a form that is not known here, are left out.
  void add(const TraceNote& note);
  // The end of the file. `dropped`: notes that the daemon had no room for.
  void finish(uint64_t dropped);
  uint64_t events() const { return events_; }
  uint64_t count(std::string_view kind) const;  // of notes
  // The last stage's kind of work; empty: there is none.
  std::string_view last_work() const;

 private:
  enum class Form : uint8_t { kInterval, kBar, kLevel, kSlots };
  struct NoteType {
    TraceKind kind;
    Form form = Form::kInterval;
    bool is_of_reader = false;  // READY and RELEASE
  };
  // An interval that a flow passes.
  struct Stop {
    uint64_t batch = 0, index = 0;
    int64_t start_ns = 0, end_ns = 0;
    int64_t thread = 0;  // the kernel's id
  };

  void begin_event(const char* phase, std::string_view name, int64_t at_ns);
  void end_event();
  void add_interval(const NoteType& type, const TraceNote& note);
  void add_bar(std::string_view name, const char* category, int64_t from_ns, int64_t to_ns, const std::string& args);
  void add_level(const NoteType& type, const TraceNote& note);
  void add_slots(const NoteType& type, const TraceNote& note);
  void note_stop(const NoteType& type, const TraceNote& note, const Stop& stop);
  void add_flow(std::string_view name, const std::vector<Stop>& stops);
  void add_sample_flows();
  void add_batch_flows();

  const TraceHead head_;
  const Write write_;
  std::vector<std::optional<NoteType>> types_;  // by the daemon's number; none: not known here
  std::vector<uint64_t> counts_;
  std::string text_;                            // not written yet
  uint64_t events_ = 0, last_id_ = 0;           // ids of bars and flows
  std::map<uint64_t, std::string> slots_;       // of rings: levels that are not complete yet
  std::vector<Stop> samples_;                   // of all stages
  std::map<uint64_t, std::vector<Stop>> ends_;  // finish and publish, by batch
  std::vector<Stop> readies_, releases_;        // index: the reader
};

}  // namespace spdld::cli
