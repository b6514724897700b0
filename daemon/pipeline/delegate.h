// An executor as one pipeline uses it, where operations of the pipeline's outputs are the executor's
// (OperationType::executor): user processes, a GPU. Control thread, but for the stages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/carried.h"
#include "daemon/memory/slot_memory.h"
#include "daemon/pipeline/errand.h"
#include "daemon/pipeline/stage.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

class Delegate {
 public:
  virtual ~Delegate() = default;
  // The memory of what its errands take and give. Outlives the delegate's stages.
  virtual media::ScratchMemory& scratch() = 0;
  // The stage that does some errands of one turn for each sample. It reads Passage::carried at Errand::from, and writes
  // it at Errand::to, for each of them; `from` is its own to change. It need not give memory back. A sample whose
  // errand fails for its content ends with kContent; what should pass, with kTransient.
  virtual std::unique_ptr<Stage> make_stage(std::vector<const Errand*> errands) = 0;

  // How the first stage gets the samples of sources that the executor makes (Plan::makings), where there are any.
  struct Supply {
    // Its requests are passages. It hands on what it need not make.
    std::unique_ptr<source::Fetcher> fetcher;
    StageAccount account;  // of the first stage then
  };
  // The slot, in which its stages may have had samples written by others (SlotMemory::lend), is filled no more by its
  // stream, and may soon be gone. Never blocks.
  virtual void end_lending(const memory::SlotMemory& /*slot*/) {}
  // `others` outlives the fetcher. None: the executor makes none.
  virtual std::optional<Supply> make_supply(source::Fetcher& /*others*/) { return std::nullopt; }
};

// Makes the executor's delegate for a pipeline, which outlives the delegate. Throws SetupError.
using DelegateMaker = std::function<std::unique_ptr<Delegate>(const Pipeline&)>;
using DelegateMakers = std::map<std::string, DelegateMaker, std::less<>>;  // by OperationType::executor

}  // namespace spdld::pipeline
