#include "client/cli/state/chrome_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "config/text/json.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr size_t kWrittenBytes = size_t{1} << 20;  // at once

std::string json_text(std::string_view text) { return Json(text).dump(); }

template <typename T>
void append_number(std::string& text, T number) {
  std::array<char, 24> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// The format counts in microseconds.
void append_us(std::string& text, int64_t ns) {
  append_number(text, ns / 1000);
  const auto rest = static_cast<unsigned>(ns % 1000);
  text += '.';
  for (const unsigned unit : {100u, 10u, 1u}) text += static_cast<char>('0' + rest / unit % 10);
}

}  // namespace

std::optional<TraceNote> parse_trace_note(std::string_view line) {
  TraceNote note;
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto read = [&](auto& number, bool is_last) {
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (is_last ? behind != end : behind == end || *behind != ' ')) return false;
    at = behind + (is_last ? 0 : 1);
    return true;
  };
  const bool is_one = read(note.kind, false) && read(note.thread, false) && read(note.start_ns, false) &&
                      read(note.duration_ns, false) && read(note.batch, false) && read(note.index, false) &&
                      read(note.sample, false) && read(note.value, false) && read(note.failed, true);
  // A recording lasts a minute; larger times would overflow.
  constexpr int64_t kTimeMax = int64_t{1} << 61;
  if (!is_one || note.start_ns > kTimeMax || note.start_ns < -kTimeMax || note.duration_ns > kTimeMax)
    return std::nullopt;
  return note;
}

ChromeTrace::ChromeTrace(TraceHead head, Write write) : head_(std::move(head)), write_(std::move(write)) {
  constexpr std::array<std::string_view, 4> kForms = {"interval", "bar", "level", "slots"};  // in the order of Form
  for (const TraceKind& kind : head_.kinds) {
    const auto form = std::find(kForms.begin(), kForms.end(), kind.form);
    std::optional<NoteType>& type = types_.emplace_back();
    if (form == kForms.end()) continue;
    const bool is_of_reader = kind.name == "ready" || kind.name == "release";
    type = NoteType{kind, static_cast<Form>(form - kForms.begin()), is_of_reader};
  }
  counts_.resize(types_.size());
  text_ = "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n";
  begin_event("M", "process_name", 0);
  text_ += ",\"args\":{\"name\":" + json_text("spdld, pipeline " + head_.pipeline) + "}";
  end_event();
  for (const TraceHead::Thread& thread : head_.threads) {
    begin_event("M", "thread_name", 0);
    text_ += ",\"tid\":";
    append_number(text_, thread.id);
    text_ += ",\"args\":{\"name\":" + json_text(thread.id == head_.pid ? "control" : thread.name) + "}";
    end_event();
  }
}

void ChromeTrace::begin_event(const char* phase, std::string_view name, int64_t at_ns) {
  if (events_++ > 0) text_ += ",\n";
  text_.append("{\"ph\":\"").append(phase).append("\",\"name\":");
  text_ += json_text(name);
  text_ += ",\"pid\":";
  append_number(text_, head_.pid);
  text_ += ",\"ts\":";
  append_us(text_, at_ns);
}

void ChromeTrace::end_event() {
  text_ += '}';
  if (text_.size() < kWrittenBytes) return;
  write_(text_);
  text_.clear();
}

void ChromeTrace::add(const TraceNote& note) {
  if (note.kind >= types_.size() || note.thread >= head_.threads.size() || !types_[note.kind]) return;
  const NoteType& type = *types_[note.kind];
  counts_[note.kind]++;
  switch (type.form) {
    case Form::kLevel:
      return add_level(type, note);
    case Form::kSlots:
      return add_slots(type, note);
    case Form::kInterval:
    case Form::kBar:
      return add_interval(type, note);
  }
}

// An interval that began before the recording is shown from the recording's beginning on. An interval without length
// would take no flow.
void ChromeTrace::add_interval(const NoteType& type, const TraceNote& note) {
  const int64_t from_ns = std::max<int64_t>(note.start_ns, 0);
  const int64_t to_ns = std::max(note.start_ns + static_cast<int64_t>(note.duration_ns), from_ns + 1);
  std::string args = "{\"batch\":";
  append_number(args, note.batch);
  if (type.kind.is_of_sample || type.is_of_reader)
    append_number(args += type.is_of_reader ? ",\"reader\":" : ",\"index\":", note.index);
  if (type.kind.is_of_sample) append_number(args += ",\"sample\":", note.sample);
  if (note.value > 0) append_number(args += ",\"bytes\":", note.value);
  if (note.failed) args += ",\"failed\":true";
  args += '}';
  if (type.form == Form::kBar)
    return add_bar(type.kind.shown, type.kind.is_of_sample ? "samples" : "batches", from_ns, to_ns, args);
  const int64_t thread = head_.threads[note.thread].id;
  begin_event("X", type.kind.shown, from_ns);
  text_ += ",\"dur\":";
  append_us(text_, to_ns - from_ns);
  append_number(text_ += ",\"tid\":", thread);
  text_ += ",\"args\":" + args;
  end_event();
  note_stop(type, note, {note.batch, note.index, from_ns, to_ns, thread});
}

void ChromeTrace::note_stop(const NoteType& type, const TraceNote& note, const Stop& stop) {
  if (type.kind.is_of_sample)
    samples_.push_back(stop);
  else if (type.is_of_reader)
    (type.kind.name == "ready" ? readies_ : releases_).push_back(stop);
  else
    ends_[note.batch].push_back(stop);
}

void ChromeTrace::add_bar(std::string_view name, const char* category, int64_t from_ns, int64_t to_ns,
                          const std::string& args) {
  const uint64_t id = ++last_id_;
  for (const bool is_end : {false, true}) {
    begin_event(is_end ? "e" : "b", name, is_end ? to_ns : from_ns);
    append_number(text_.append(",\"cat\":\"").append(category).append("\",\"id\":"), id);
    if (!is_end) text_ += ",\"args\":" + args;
    end_event();
  }
}

void ChromeTrace::add_level(const NoteType& type, const TraceNote& note) {
  begin_event("C", type.kind.shown, std::max<int64_t>(note.start_ns, 0));
  append_number(text_ += ",\"args\":{\"now\":", note.value);
  text_ += '}';
  end_event();
}

// The four levels of a ring come one after another, and make one counter.
void ChromeTrace::add_slots(const NoteType& type, const TraceNote& note) {
  if (note.sample >= head_.rings.size()) return;
  std::string& levels = slots_[note.sample];
  if (type.kind.name == "slots-free") levels.clear();
  levels += (levels.empty() ? "\"" : ",\"") + type.kind.shown + "\":";
  append_number(levels, note.value);
  if (type.kind.name != "slots-held") return;
  begin_event("C", "slots of " + head_.rings[note.sample], std::max<int64_t>(note.start_ns, 0));
  text_ += ",\"args\":{" + levels + "}";
  end_event();
}

void ChromeTrace::add_flow(std::string_view name, const std::vector<Stop>& stops) {
  if (stops.size() < 2) return;
  const uint64_t id = ++last_id_;
  for (size_t i = 0; i < stops.size(); i++) {
    const bool is_last = i + 1 == stops.size();
    begin_event(i == 0 ? "s" : is_last ? "f" : "t", name, stops[i].start_ns);
    if (is_last) text_ += ",\"bp\":\"e\"";  // the interval around it, not the next one
    append_number(text_ += ",\"cat\":\"flow\",\"id\":", id);
    append_number(text_ += ",\"tid\":", stops[i].thread);
    end_event();
  }
}

// From a sample's first stage by the others to where its batch is finished or published.
void ChromeTrace::add_sample_flows() {
  std::sort(samples_.begin(), samples_.end(), [](const Stop& a, const Stop& b) {
    return std::tie(a.batch, a.index, a.start_ns) < std::tie(b.batch, b.index, b.start_ns);
  });
  for (size_t from = 0, to = 0; from < samples_.size(); from = to) {
    const Stop& first = samples_[from];
    std::vector<Stop> stops;
    for (; to < samples_.size() && samples_[to].batch == first.batch && samples_[to].index == first.index; to++)
      stops.push_back(samples_[to]);
    if (const auto end = ends_.find(first.batch); end != ends_.end()) stops.push_back(end->second.front());
    add_flow("sample", stops);
  }
}

// From where a batch is finished by its READY to its RELEASE. The bar between the two is the reader's time with it.
void ChromeTrace::add_batch_flows() {
  std::map<std::pair<uint64_t, uint64_t>, const Stop*> released;
  for (const Stop& release : releases_) released.emplace(std::pair(release.batch, release.index), &release);
  for (const Stop& ready : readies_) {
    std::vector<Stop> stops;
    if (const auto ends = ends_.find(ready.batch); ends != ends_.end()) stops = ends->second;
    stops.push_back(ready);
    if (const auto at = released.find({ready.batch, ready.index}); at != released.end()) {
      stops.push_back(*at->second);
      std::string args = "{\"batch\":";
      append_number(args, ready.batch);
      append_number(args += ",\"reader\":", ready.index);
      add_bar("batch is with the trainer", "batches", ready.end_ns, std::max(at->second->start_ns, ready.end_ns),
              args + "}");
    }
    add_flow("batch", stops);
  }
}

void ChromeTrace::finish(uint64_t dropped) {
  const auto by_time = [](const Stop& a, const Stop& b) { return a.start_ns < b.start_ns; };
  for (auto& [batch, stops] : ends_) std::sort(stops.begin(), stops.end(), by_time);
  add_sample_flows();
  add_batch_flows();
  if (dropped > 0) {
    begin_event("i", std::to_string(dropped) + " notes were dropped: the trace is not whole", 0);
    text_ += ",\"s\":\"g\"";
    end_event();
  }
  const Json other = {{"pipeline", head_.pipeline}, {"daemon", head_.daemon},   {"started", head_.started},
                      {"start_ns", head_.start_ns}, {"seconds", head_.seconds}, {"dropped", dropped}};
  text_ += "\n],\n\"otherData\":" + other.dump() + "}\n";
  write_(text_);
  text_.clear();
}

uint64_t ChromeTrace::count(std::string_view kind) const {
  uint64_t count = 0;
  for (size_t i = 0; i < types_.size(); i++)
    if (types_[i] && types_[i]->kind.name == kind) count += counts_[i];
  return count;
}

std::string_view ChromeTrace::last_work() const {
  std::string_view last;
  for (const std::optional<NoteType>& type : types_)
    if (type && type->form == Form::kInterval && type->kind.is_of_sample) last = type->kind.name;
  return last;
}

}  // namespace spdld::cli
