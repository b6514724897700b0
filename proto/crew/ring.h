// The memory through which the daemon and one worker of a crew hand samples to one another (PROTOCOL.md, "Crews"): the
// lane of tasks, the lane of replies, and texts beside the replies. It is a memfd of the daemon's, sealed against
// changes of its size, all zero at first. Tensors and bytes lie in the crew's scratch memory, another memfd, in which
// they are told as extents. Plain values.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/crew/lane.h"

namespace spdld::proto::crew {

inline constexpr uint32_t kDimensionsMax = 8;    // of a tensor
inline constexpr uint32_t kTextBytesMax = 4096;  // of a reply
inline constexpr uint32_t kWorkersMax = 256;     // of a crew

// Bytes of the scratch memory.
struct Extent {
  uint64_t offset = 0;  // a multiple of 64
  uint64_t bytes = 0;
};

struct Shape {
  uint32_t dimensions = 0;
  uint32_t unused = 0;
  int64_t sizes[kDimensionsMax] = {};
};

enum class TaskKind : uint32_t {
  kCall = 0,  // to run an errand on a sample
  kRoom = 1,  // `room` is the room that the reply kNeedsRoom to task `number` asked for
  kDrop = 2   // the daemon has no room for that result: the worker forgets it, and replies nothing
};

struct Task {
  uint64_t number = 0;  // of the worker's tasks, from 1 on; of kRoom and kDrop: of the call
  TaskKind kind = TaskKind::kCall;
  uint32_t errand = 0;     // in CREW_JOINED's list
  uint64_t key = 0;        // of the random draws of the sample in this pass: a function of seed, epoch and sample
  uint64_t sample = 0;     // its id, for people
  uint64_t index = 0;      // of the item in its source, where the errand makes items
  Extent input = {};       // the worker's own to change until it replies
  Shape input_shape = {};  // of a tensor
  Extent room = {};        // for the result; may be too small, or empty, where the result's size is not known before
};

enum class ReplyKind : uint32_t {
  kDone = 0,       // the result lies at the start of `room`
  kNeedsRoom = 1,  // the result has this size, and waits for kRoom or kDrop
  kBad = 2         // the errand's function failed on this sample, and the text says how: bad content
};

struct Reply {
  uint64_t number = 0;
  ReplyKind kind = ReplyKind::kDone;
  uint32_t text_bytes = 0;  // of the text at this reply's place
  uint64_t bytes = 0;       // of the result
  Shape shape = {};         // of the result, where it is a tensor
  uint64_t call_ns = 0;     // the time in the user's functions
};

struct Ring {
  // The number of the call whose functions the worker has begun to run: the sample that its death is put down to.
  alignas(64) std::atomic<uint64_t> begun;
  Lane<Task> tasks;
  Lane<Reply> replies;
  char texts[kPlaces][kTextBytesMax];  // by the reply's place; not terminated; not trusted
};

}  // namespace spdld::proto::crew
