// The account that a stage of samples' ways gives of itself: its workers, and the words for them and for their work.
// Tuner, verdict, tables, pages and traces speak of every stage by its account, and know none by its name. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spdld {

struct StageAccount {
  // The workers. A stage's lanes are the workers at one moment: threads, reads under way, processes.
  bool is_on_pool = false;         // the threads of the pool, in turns, for all pipelines
  std::string_view tuned_as = {};  // the executor that the node's tuning gives lanes (node/seats/tuning.h); empty: none
  std::string_view role = {};    // of the daemon's threads that do it (own_process.h); empty: no threads of the daemon
  bool reads_source = false;     // the work is to bring samples' bytes from where they lie
  bool runs_operations = false;  // the work is the outputs' operations

  std::string name = {};    // in documents, metrics, tables and traces: "decode"
  std::string work = {};    // what is done, as a sentence's first word: "Decoding"
  std::string at = "on";    // before the number of lanes: "on 4 decode threads", "with 4 reads at once"
  std::string lane = {};    // one of them: "decode thread"
  std::string behind = {};  // " at once", where "4 reads" would say something else
  // The change that gives the stage more lanes than it may have now, before a comma: "With # cores for decoding in
  // place of @". # stands for their number, and @ for the number now. Empty: there is no such change.
  std::string more = {};
  std::string faulty = "the source";  // whom it waits for when its work fails and is tried again

  // "4 decode threads", "1 read at once".
  std::string lanes(uint64_t count) const {
    return std::to_string(count) + " " + lane + (count == 1 ? "" : "s") + behind;
  }
  // "decoding", for the middle of a sentence.
  std::string work_inside() const {
    std::string text = work;
    if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z')
      text.front() = static_cast<char>(text.front() + 32);
    return text;
  }
};

}  // namespace spdld
