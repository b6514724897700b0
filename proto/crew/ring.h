// The memory through which the daemon and one worker of a crew hand samples to one another (PROTOCOL.md, "Crews"): the
// lane of tasks, the lane of replies, and texts beside the replies. It is a memfd of the daemon's, sealed against
// changes of its size, all zero at first. Tensors and bytes lie in the crew's scratch memory, another memfd, in which
// they are told as extents; what goes into a batch as it is may lie in a slot of the batch, a memfd that the worker
// gets over its bell. Plain values.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/crew/lane.h"

namespace spdld::proto::crew {

inline constexpr uint32_t kDimensionsMax = 8;    // of a tensor
inline constexpr uint32_t kTextBytesMax = 4096;  // of a reply
inline constexpr uint32_t kWorkersMax = 256;     // of a crew
inline constexpr uint32_t kOperationsTold = 8;   // of an errand: with a time of their own in replies
inline constexpr uint32_t kBunchMax = 64;        // the most samples of one call of a function
inline constexpr uint32_t kInFlightMax = 64;     // the most calls of an errand that a worker has under way at once
inline constexpr uint32_t kPlacedMax = 8;        // values of a record that may lie in a slot
inline constexpr uint64_t kInRecord = UINT64_MAX;

// Bytes of the scratch memory, or of a slot.
struct Extent {
  uint64_t offset = 0;  // in the scratch memory: a multiple of 64
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
  kDrop = 2,  // the daemon has no room for that result: the worker forgets it, and replies nothing
  // Of slot `slot`, which has `room.bytes` bytes: its descriptor lies in the bell, and is the worker's to map; or the
  // worker unmaps it. Neither is replied to.
  kSlot = 3,
  kSlotGone = 4
};

struct Task {
  uint64_t number = 0;  // of the worker's tasks, from 1 on; of kRoom and kDrop: of the call
  TaskKind kind = TaskKind::kCall;
  uint32_t errand = 0;    // in CREW_JOINED's list
  uint64_t key = 0;       // of the random draws of the sample in this pass: a function of seed, epoch and sample
  uint64_t sample = 0;    // its id, for people
  uint64_t index = 0;     // of the item in its source, where the errand makes items
  uint32_t is_alone = 0;  // 1: the sample is called by itself, and no other call is under way meanwhile
  // 0: the result lies in the scratch memory. Else `room` is in this slot; where the errand makes items, the record
  // lies in the scratch memory, and values of it in the slot, at the offsets that `value_at` tells.
  uint32_t slot = 0;
  Extent input = {};       // the worker's own to change until it replies
  Shape input_shape = {};  // of a tensor
  Extent room = {};        // for the result; may be too small, or empty, where the result's size is not known before
  uint64_t value_at[kPlacedMax] = {};  // of a record's first values; kInRecord: there; such a value has no bytes there
};

enum class ReplyKind : uint32_t {
  kDone = 0,       // the result lies at the start of `room`
  kNeedsRoom = 1,  // the result has this size, and waits for kRoom or kDrop
  kBad = 2,        // the errand's function failed on this sample, and the text says how: bad content
  kAgain = 3,      // the call of its whole bunch failed: the sample is to be called alone
  kDropped = 4,    // the errand's operation with the number `bytes` leaves the sample out: no bad content
  kNoSlot = 5      // the worker could not map the task's slot, and has not begun the call
};

struct Reply {
  uint64_t number = 0;
  ReplyKind kind = ReplyKind::kDone;
  uint32_t text_bytes = 0;  // of the text at this reply's place
  uint64_t bytes = 0;       // of the result; of kDropped: the place of the operation in its errand
  Shape shape = {};         // of the result, where it is a tensor
  uint64_t call_ns = 0;     // the time in the user's functions
  // The parts of it, of the errand's operations in order. The last one stands for all that follow as well.
  uint64_t operation_ns[kOperationsTold] = {};
};

// A call whose functions a worker has begun to run, so that its death may be put down to the call's sample. The highest
// 8 bits say how many calls of the errand the worker has under way at once, at the most; 0: one call ends before the
// next one begins.
inline constexpr uint64_t begun_word(uint64_t number, uint32_t in_flight) {
  return (number & ~uint64_t{0} >> 8) | uint64_t{in_flight} << 56;
}
inline constexpr uint64_t begun_number(uint64_t word) { return word & ~uint64_t{0} >> 8; }
inline constexpr uint32_t begun_in_flight(uint64_t word) { return static_cast<uint32_t>(word >> 56); }

struct Ring {
  // Words of begun calls, at the places of their numbers: number % kPlaces. All calls that a worker has in hand have
  // places of their own.
  alignas(64) std::atomic<uint64_t> begun[kPlaces];
  Lane<Task> tasks;
  Lane<Reply> replies;
  char texts[kPlaces][kTextBytesMax];  // by the reply's place; not terminated; not trusted
};

}  // namespace spdld::proto::crew
