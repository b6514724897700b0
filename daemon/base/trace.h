// The recorder of what threads do for one subject, such as a pipeline: intervals of time, moments and levels. There is
// one for the process, and at most one recording at a time.
//
// Nothing is recorded for most of the time: is_on() is then one relaxed load and a comparison, and no clock is read.
// While a recording runs, each thread writes its notes to a chunk of memory of its own, without a lock, and takes
// another chunk when it is full. All chunks are one allocation, made when the recording begins, so their bytes are
// bounded. Once no chunk is left, further notes are dropped and counted.
//
// Notes are read when the recording has ended. A thread may just be writing then: the memory is given back once no
// thread is within note(), as give_back() finds.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/stage_account.h"
#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"

namespace spdld::trace {

enum class What : uint8_t {
  // Of a stage of samples' ways, which Note::stage names:
  kWork,           // a thread has worked on a sample
  kWorkElsewhere,  // a sample was worked on; no thread of the daemon was busy all that time
  kWait,           // how long a sample waited before the work
  kWaiting,        // level: samples that wait for the stage, or are with somebody else for it
  // Of the pipeline:
  kFinish,         // a thread has finished a batch whose samples were all there
  kFill,           // a batch was filled, from its first sample to its last
  kPublish,        // a thread has handed on a batch
  kCopy,           // a batch was copied to a GPU
  kReady,          // a batch was announced to a reader
  kRelease,        // a reader has given it back
  kBytesInFlight,  // level: bytes of samples that are read and not decoded
  kSlotsFree,      // levels of a ring, as delivery::Ring::Levels
  kSlotsFilling,
  kSlotsReady,
  kSlotsHeld
};
inline constexpr size_t kWhats = static_cast<size_t>(What::kSlotsHeld) + 1;
inline constexpr size_t kWhatsOfStage = static_cast<size_t>(What::kWaiting) + 1;  // the first ones
inline bool is_of_stage(What what) { return static_cast<size_t>(what) < kWhatsOfStage; }

// A kind of note, as a reader of a recording needs it.
struct NoteKind {
  enum class Form : uint8_t {
    kInterval,  // what a thread did
    kBar,       // a time in which no thread was busy
    kLevel,     // a number now
    kSlots      // one of the four levels of a ring
  };
  std::string name;   // "decode", "slots-held"
  std::string shown;  // to people: "wait for a decode thread"
  Form form = Form::kInterval;
  bool is_of_sample = false;  // else of a batch
};
std::string_view name_of(NoteKind::Form form);  // "interval"
// Of each What of the pipeline, and then of each What of each stage.
std::vector<NoteKind> kinds_of(const std::vector<StageAccount>& stages);

struct Note {
  uint64_t start_ns = 0, duration_ns = 0;  // monotonic_ns()
  uint64_t batch = 0;                      // its number among the subject's batches, from 1; 0: none
  uint64_t sample = 0;                     // its id; of a ring's level: the ring's number
  uint64_t value = 0;                      // of work: the sample's bytes, where it read some; the level
  uint32_t index = 0;                      // of the sample in its batch; of kReady, kRelease: the ring's reader
  What what = What::kWork;
  uint8_t stage = 0;  // its place in the way of samples
  bool failed = false;
};
// The note's place in kinds_of().
size_t kind_of(const Note& note);
static_assert(std::is_trivially_copyable_v<Note>);

// A number for a subject, unlike all others of this process.
uint64_t new_subject();
inline constexpr uint64_t kNobody = UINT64_MAX;  // the number of a subject that is never recorded

// The subject that is recorded now; 0: none.
inline std::atomic<uint64_t> recorded_subject{0};

inline bool is_on(uint64_t subject) { return recorded_subject.load(std::memory_order_relaxed) == subject; }
// When something begins that may be recorded; 0: it is not.
inline uint64_t begin(uint64_t subject) {
  if (is_on(subject)) [[unlikely]]
    return monotonic_ns();
  return 0;
}

// Any thread; never blocks and allocates nothing. Does nothing where this subject is not recorded.
void note(uint64_t subject, const Note& taken);

// Gives back the memory of the last recording. False: a thread is still within note(), so try again later. Control
// thread.
bool give_back();

struct Thread {
  std::string name;  // "decode-3"
  pid_t id = 0;      // the kernel's
};

// Control thread, as all that follows.
class Recording {
 public:
  static constexpr size_t kChunkBytes = size_t{32} << 10;
  static constexpr size_t kNotesOfChunk = kChunkBytes / sizeof(Note);

  // Notes this subject from now on. Throws SetupError: kLimit where another recording is there, or its memory is
  // not given back yet; kMemory where there is none.
  Recording(uint64_t subject, size_t bytes_max);
  ~Recording();  // ends it; the memory goes back at once or by give_back()
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void end();  // nothing is recorded any more
  bool has_ended() const { return end_ns_ != 0; }
  uint64_t start_ns() const { return start_ns_; }
  uint64_t end_ns() const { return end_ns_; }  // 0: it has not ended

  // Once it has ended.
  uint64_t size() const { return size_; }
  uint64_t dropped() const { return dropped_; }
  const std::vector<Thread>& threads() const { return threads_; }
  // Calls `take` with the notes from number `from` on, one thread's in the order in which it wrote them, and the
  // index of each note's thread in threads(), until `take` returns false.
  void read(uint64_t from, const std::function<bool(const Note&, size_t thread)>& take) const;

 private:
  uint64_t start_ns_ = 0, end_ns_ = 0, size_ = 0, dropped_ = 0;
  std::vector<uint32_t> counts_;  // notes of each chunk
  std::vector<Thread> threads_;
};

}  // namespace spdld::trace
