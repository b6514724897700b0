#include "daemon/base/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "daemon/base/system/memory_reserve.h"

namespace spdld::trace {
namespace {

using Form = NoteKind::Form;

struct PipelineKind {
  std::string_view name, shown;
  Form form;
};
constexpr std::array<PipelineKind, kWhats - kWhatsOfStage> kPipelineKinds = {{
    {"finish", "finish", Form::kInterval},
    {"fill", "batch is filled", Form::kBar},
    {"publish", "publish", Form::kInterval},
    {"copy", "batch is copied to the GPU", Form::kBar},
    {"ready", "READY", Form::kInterval},
    {"release", "RELEASE", Form::kInterval},
    {"bytes-in-flight", "bytes in flight", Form::kLevel},
    {"slots-free", "free", Form::kSlots},
    {"slots-filling", "filling", Form::kSlots},
    {"slots-ready", "ready", Form::kSlots},
    {"slots-held", "held", Form::kSlots},
}};

// The head of a chunk lies apart from it: chunks that nobody writes to are never touched.
struct Head {
  std::atomic<uint32_t> count{0};  // of whole notes
  uint32_t thread = 0;             // in the order in which threads wrote for the first time
  pid_t id = 0;
  std::array<char, 16> name{};
};

// The memory of a recording.
struct Area {
  explicit Area(size_t chunks)
      : heads(chunks), bytes(std::make_unique_for_overwrite<std::byte[]>(chunks * Recording::kChunkBytes)) {}

  std::byte* chunk(size_t index) const { return bytes.get() + index * Recording::kChunkBytes; }

  uint64_t number = 0;  // another one for each recording
  std::vector<Head> heads;
  const std::unique_ptr<std::byte[]> bytes;
  std::atomic<uint32_t> next_chunk{0}, next_thread{0};
  StripedCounter dropped;
};

// Of the control thread, but for what note() reads through `area_in_use`.
std::unique_ptr<Area> area;
bool has_recording = false;
std::atomic<Area*> area_in_use{nullptr};

// How many threads are within note().
struct alignas(kStripeAlignment) Writers {
  std::atomic<uint32_t> count{0};
};
std::array<Writers, kStripes> writers;

// A writer counts itself before it looks whether there is a recording, and give_back() looks after it has said that
// there is none. In the one order of these accesses either the writer sees that, or give_back() sees the writer.
class Writing {
 public:
  Writing() : count_(writers[stripe_of_thread()].count) { count_.fetch_add(1, std::memory_order_seq_cst); }
  ~Writing() { count_.fetch_sub(1, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  std::atomic<uint32_t>& count_;
};

// Where the calling thread writes.
struct Place {
  uint64_t area = 0;  // its number
  uint32_t thread = 0;
  Head* head = nullptr;  // of its chunk; none: it has none yet, or there is none left
  std::byte* chunk = nullptr;
};

bool take_chunk(Area& from, Place& place) {
  place.head = nullptr;
  if (from.next_chunk.load(std::memory_order_relaxed) >= from.heads.size()) return false;
  const uint32_t index = from.next_chunk.fetch_add(1, std::memory_order_relaxed);
  if (index >= from.heads.size()) return false;
  place.head = &from.heads[index];
  place.chunk = from.chunk(index);
  place.head->thread = place.thread;
  place.head->id = gettid();
  pthread_getname_np(pthread_self(), place.head->name.data(), place.head->name.size());
  return true;
}

}  // namespace

std::string_view name_of(Form form) {
  constexpr std::array<std::string_view, 4> kForms = {"interval", "bar", "level", "slots"};
  return kForms.at(static_cast<size_t>(form));
}

std::vector<NoteKind> kinds_of(const std::vector<StageAccount>& stages) {
  std::vector<NoteKind> kinds;
  for (const PipelineKind& kind : kPipelineKinds)
    kinds.push_back({std::string(kind.name), std::string(kind.shown), kind.form, false});
  for (const StageAccount& stage : stages) {  // in the order of What
    kinds.push_back({stage.name, stage.name, Form::kInterval, true});
    kinds.push_back({stage.name + "-elsewhere", stage.name + " by a " + stage.lane, Form::kBar, true});
    kinds.push_back({stage.name + "-wait", "wait for a " + stage.lane, Form::kBar, true});
    kinds.push_back({stage.name + "-waiting", "samples at " + stage.name, Form::kLevel, true});
  }
  return kinds;
}

size_t kind_of(const Note& note) {
  const auto what = static_cast<size_t>(note.what);
  if (!is_of_stage(note.what)) return what - kWhatsOfStage;
  return kPipelineKinds.size() + note.stage * kWhatsOfStage + what;
}

uint64_t new_subject() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void note(uint64_t subject, const Note& taken) {
  const Writing writing;
  if (recorded_subject.load(std::memory_order_seq_cst) != subject) return;
  Area& to = *area_in_use.load(std::memory_order_acquire);
  thread_local Place place;
  if (place.area != to.number) place = {to.number, to.next_thread.fetch_add(1, std::memory_order_relaxed)};
  const bool is_full = !place.head || place.head->count.load(std::memory_order_relaxed) == Recording::kNotesOfChunk;
  if (is_full && !take_chunk(to, place)) return to.dropped.add();
  const uint32_t count = place.head->count.load(std::memory_order_relaxed);
  std::memcpy(place.chunk + count * sizeof(Note), &taken, sizeof(Note));
  place.head->count.store(count + 1, std::memory_order_release);
}

bool give_back() {
  if (has_recording) return false;
  const auto is_quiet = [](const Writers& of) { return of.count.load(std::memory_order_seq_cst) == 0; };
  if (area && !std::all_of(writers.begin(), writers.end(), is_quiet)) return false;
  area.reset();
  return true;
}

Recording::Recording(uint64_t subject, size_t bytes_max) try {
  if (!give_back()) throw SetupError(Trouble::kLimit, "another recording is under way: try again later");
  static uint64_t last_number = 0;
  const memory_reserve::Spared spared;
  auto made = std::make_unique<Area>(std::max<size_t>(bytes_max / kChunkBytes, 1));
  counts_.reserve(made->heads.size());
  made->number = ++last_number;
  area = std::move(made);
  has_recording = true;
  start_ns_ = monotonic_ns();
  area_in_use.store(area.get(), std::memory_order_release);
  recorded_subject.store(subject, std::memory_order_seq_cst);
} catch (const std::bad_alloc&) {
  throw SetupError(Trouble::kMemory, "spdld is short of memory, and can make no recording now: try again later");
}

Recording::~Recording() {
  recorded_subject.store(0, std::memory_order_seq_cst);
  has_recording = false;
  give_back();
}

void Recording::end() {
  if (has_ended()) return;
  recorded_subject.store(0, std::memory_order_seq_cst);
  end_ns_ = monotonic_ns();
  dropped_ = area->dropped.value();
  const size_t chunks = std::min<size_t>(area->next_chunk.load(), area->heads.size());
  for (size_t i = 0; i < chunks; i++) {
    const Head& head = area->heads[i];
    counts_.push_back(head.count.load(std::memory_order_acquire));
    size_ += counts_.back();
    if (counts_.back() == 0) continue;
    if (threads_.size() <= head.thread) threads_.resize(head.thread + 1);
    threads_[head.thread] = {head.name.data(), head.id};
  }
}

void Recording::read(uint64_t from, const std::function<bool(const Note&, size_t thread)>& take) const {
  for (size_t i = 0; i < counts_.size(); i++) {
    if (from >= counts_[i]) {
      from -= counts_[i];
      continue;
    }
    for (; from < counts_[i]; from++) {
      Note note;
      std::memcpy(&note, area->chunk(i) + from * sizeof(Note), sizeof(Note));
      if (!take(note, area->heads[i].thread)) return;
    }
    from = 0;
  }
}

}  // namespace spdld::trace
