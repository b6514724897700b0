#include "daemon/node/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "config/text/json.h"
#include "config/text/words.h"
#include "daemon/base/formats/utc_time.h"
#include "daemon/node/access/access.h"
#include "daemon/node/reports/words.h"
#include "proto/seqpacket.h"

namespace spdld::node {
namespace {

using config::Json;
using trace::Note;
using trace::What;

Error wrong_question() {
  return {Trouble::kUsage,
          "\"trace\" takes \"NAME start SECONDS\", with 0.1 to 60 seconds, or \"NAME take NUMBER FROM\""};
}

// The times of one begin where the recording does, so an interval that had begun earlier has a negative time.
void append_line(std::string& lines, const Note& note, size_t thread, uint64_t start_ns) {
  const auto append = [&lines](auto number, char behind) {
    std::array<char, 24> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
    lines.append(text.data(), end) += behind;
  };
  append(trace::kind_of(note), ' ');
  append(thread, ' ');
  append(static_cast<int64_t>(note.start_ns - start_ns), ' ');
  append(note.duration_ns, ' ');
  append(note.batch, ' ');
  append(note.index, ' ');
  append(note.sample, ' ');
  append(note.value, ' ');
  append(static_cast<unsigned>(note.failed), '\n');
}

std::vector<StageAccount> accounts_of(const pipeline::Stages& stages) {
  std::vector<StageAccount> accounts;
  for (const auto& stage : stages) accounts.push_back(stage->account());
  return accounts;
}

Json kinds_document(const std::vector<trace::NoteKind>& all) {
  Json kinds = Json::array();
  for (const trace::NoteKind& kind : all)
    kinds.push_back({{"name", kind.name},
                     {"shown", kind.shown},
                     {"form", trace::name_of(kind.form)},
                     {"is_of_sample", kind.is_of_sample}});
  return kinds;
}

Json threads_document(const trace::Recording& recording) {
  Json threads = Json::array();
  for (const trace::Thread& thread : recording.threads()) threads.push_back({{"name", thread.name}, {"id", thread.id}});
  return threads;
}

// Other users' groups are their own business.
Json rings_document(const std::vector<FeedKey>& keys, const control::Client& client) {
  Json rings = Json::array();
  for (const FeedKey& key : keys) {
    const bool is_seen = is_owner(client.uid) || is_same_user(client, key.uid);
    rings.push_back({{"group", is_seen ? key.group : ""}, {"rank", key.rank}, {"world_size", key.world_size}});
  }
  return rings;
}

}  // namespace

Recorder::Recorder(EventLoop& loop, const Seating& seating, std::chrono::milliseconds kept_for)
    : loop_(loop), seating_(seating), kept_for_(kept_for), levels_(loop), end_(loop), kept_(loop) {}

Result<std::string> Recorder::query(const control::Client& client, std::string_view argument, const Find& find) {
  std::istringstream text{std::string(argument)};
  std::vector<std::string> words;
  for (std::string word; words.size() < 5 && text >> word;) words.push_back(word);
  if (words.size() == 3 && words[1] == "start") {
    const auto seconds = number_in<double>(words[2]);
    if (!seconds || !(*seconds >= kSecondsMin && *seconds <= kSecondsMax)) return wrong_question();
    return start(client, words[0], *seconds, find);
  }
  if (words.size() != 4 || words[1] != "take") return wrong_question();
  const auto number = number_in<uint64_t>(words[2]), from = number_in<uint64_t>(words[3]);
  return number && from ? take(client, words[0], *number, *from) : wrong_question();
}

Result<std::string> Recorder::start(const control::Client& client, const std::string& name, double seconds,
                                    const Find& find) {
  const auto pipeline = find(name);
  if (!pipeline) return pipeline.error();
  if (present_)
    return Error{Trouble::kLimit,
                 "this node makes one recording at a time, and another one is under way or is being "
                 "fetched: try again in a minute"};
  const Status begun = begin(client, name, *pipeline, seconds);
  if (!begun) return begun.error();
  return Json{{"recording", present_->number}, {"seconds", seconds}}.dump();
}

Status Recorder::begin(const control::Client& client, const std::string& name,
                       const std::shared_ptr<pipeline::Pipeline>& pipeline, double seconds) try {
  UniqueFd process(fcntl(client.process->get(), F_DUPFD_CLOEXEC, 0));
  if (!process) return Error{Trouble::kLimit, "spdld has too many files open: try again later"};
  auto recording = std::make_unique<trace::Recording>(pipeline->subject(), kBytesMax);
  present_.emplace(loop_, std::move(process));
  present_->number = ++last_number_;
  present_->uid = client.uid;
  present_->name = name;
  present_->pipeline = pipeline;
  present_->kinds = trace::kinds_of(accounts_of(pipeline->stages()));
  present_->started = std::chrono::system_clock::now();
  present_->recording = std::move(recording);
  wait_for_process();
  note_levels();
  end_.start(std::chrono::milliseconds(std::llround(seconds * 1e3)), [this] { end(); });
  return Done{};
} catch (const SetupError& error) {
  return error.error();
} catch (const std::bad_alloc&) {
  drop();
  throw;
}

void Recorder::wait_for_process() {
  present_->process.when_readable([this] {
    if (proto::process_has_ended(present_->process.fd())) return drop();
    wait_for_process();
  });
}

// The levels at the recording's beginning, and again and again until it ends.
void Recorder::note_levels() {
  const auto pipeline = present_->pipeline.lock();
  if (!pipeline) return end();
  const uint64_t now_ns = monotonic_ns(), subject = pipeline->subject();
  const auto note = [&](What what, uint64_t level) {
    trace::note(subject, {.start_ns = now_ns, .value = level, .what = what});
  };
  for (const auto& stage : pipeline->stages())
    trace::note(subject,
                {.start_ns = now_ns, .value = stage->waiting(), .what = What::kWaiting, .stage = stage->place()});
  if (const auto& budget = pipeline->resources().budget) note(What::kBytesInFlight, budget->bytes());
  if (const auto feeds = seating_.feeds().find(pipeline.get()); feeds != seating_.feeds().end())
    for (const auto& [key, feed] : feeds->second) note_slots(subject, key, *feed, now_ns);
  levels_.start(kLevelsEvery, [this] { note_levels(); });
}

void Recorder::note_slots(uint64_t subject, const FeedKey& key, const Feed& feed, uint64_t now_ns) {
  auto& rings = present_->rings;
  const auto at = std::find(rings.begin(), rings.end(), key);
  const auto ring = static_cast<uint64_t>(at - rings.begin());
  if (at == rings.end()) {
    if (rings.size() == kRingsMax) return;
    rings.push_back(key);
  }
  const auto note = [&](What what, uint64_t level) {
    trace::note(subject, {.start_ns = now_ns, .sample = ring, .value = level, .what = what});
  };
  const delivery::Ring::Levels levels = feed.ring().levels();
  note(What::kSlotsFree, levels.free);
  note(What::kSlotsFilling, levels.filling);
  note(What::kSlotsReady, levels.ready);
  note(What::kSlotsHeld, levels.held);
}

void Recorder::end() {
  levels_.cancel();
  end_.cancel();
  present_->recording->end();
  kept_.start(kept_for_, [this] { drop(); });
}

void Recorder::drop() {
  levels_.cancel();
  end_.cancel();
  kept_.cancel();
  present_.reset();
}

Result<std::string> Recorder::take(const control::Client& client, const std::string& name, uint64_t number,
                                   uint64_t from) {
  const bool is_there = present_ && present_->number == number && present_->name == name;
  if (!is_there || (!is_same_user(client, present_->uid) && !is_owner(client.uid)))
    return Error{Trouble::kNotFound, "there is no recording " + std::to_string(number) + " of pipeline '" +
                                         config::printable(name) + "': it was fetched, or given up after " +
                                         std::to_string(kKeptFor.count()) + " s in which nobody fetched it"};
  end();
  if (from > present_->recording->size())
    return Error{Trouble::kUsage, "recording " + std::to_string(number) + " has " +
                                      std::to_string(present_->recording->size()) + " notes"};
  return part(client, from);
}

std::string Recorder::part(const control::Client& client, uint64_t from) {
  const trace::Recording& recording = *present_->recording;
  std::string lines;
  lines.reserve(kLineBytesMax + 256);
  uint64_t next = from;
  recording.read(from, [&](const Note& note, size_t thread) {
    append_line(lines, note, thread, recording.start_ns());
    next++;
    return lines.size() < kLineBytesMax;
  });
  const bool is_last = next == recording.size();
  std::string answer = Json{
      {"recording", present_->number},
      {"pipeline", present_->name},
      {"daemon", "spdld " SPDLD_VERSION},
      {"pid", getpid()},
      {"started", utc_text(present_->started)},
      {"start_ns", recording.start_ns()},
      {"seconds", seconds(recording.end_ns() - recording.start_ns())},
      {"kinds", kinds_document(present_->kinds)},
      {"threads", threads_document(recording)},
      {"rings", rings_document(present_->rings, client)},
      {"dropped", recording.dropped()},
      {"notes", recording.size()},
      {"next", next},
      {"lines",
       std::move(lines)}}.dump();
  if (is_last) drop();
  return answer;
}

void Recorder::tick() { trace::give_back(); }

}  // namespace spdld::node
