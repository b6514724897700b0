// The part of the decode threads' time that a pipeline got lately, for people. Control thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spdld::node {

class CpuShare {
 public:
  static constexpr size_t kNotes = 41;  // ten seconds of the node's ticks

  // Notes the CPU time so far of this pipeline, and of all pipelines.
  void note(uint64_t own_ns, uint64_t all_ns) { notes_[count_++ % kNotes] = {own_ns, all_ns}; }
  // The pipeline's part of the CPU time used between the oldest and the newest note, 0 to 1; 0 where none was used.
  double value() const {
    if (count_ == 0) return 0;
    const Note& newest = notes_[(count_ - 1) % kNotes];
    const Note& oldest = notes_[count_ < kNotes ? 0 : count_ % kNotes];
    const uint64_t all_ns = newest.all_ns - oldest.all_ns;
    return all_ns == 0 ? 0 : static_cast<double>(newest.own_ns - oldest.own_ns) / static_cast<double>(all_ns);
  }

 private:
  struct Note {
    uint64_t own_ns = 0, all_ns = 0;
  };
  std::array<Note, kNotes> notes_{};
  size_t count_ = 0;
};

}  // namespace spdld::node
