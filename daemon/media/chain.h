// The operations of one output, or of one of its segments, compiled: what config/operation.h has followed becomes
// nodes. Constant after construction; any thread runs it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "daemon/media/node.h"

namespace spdld::media {

class Chain {
 public:
  // A stretch of an output's operations.
  struct Stretch {
    std::span<const config::OperationSpec> ops;
    std::span<const config::Signature> along;  // what each takes; behind them, what the last one gives
    const std::string& output;                 // its name
    size_t extra = 1;                          // the place in Call::tensors of the first further tensor that they write
    bool is_first = true, is_last = true;      // of the output's segments
  };
  // `files`: those beside the data set that operations may read, within this call; null: none. Throws SetupError on
  // faults that only the code finds.
  explicit Chain(const Stretch& stretch, SideFiles* files = nullptr);
  // All of an output's operations. Precondition: `followed` has no error and is of these operations.
  Chain(std::span<const config::OperationSpec> ops, const config::Followed& followed, const std::string& output,
        SideFiles* files = nullptr)
      : Chain({ops, followed.along, output}, files) {}

  // Writes the sample's part of each of call.tensors. kContent: the sample's content is bad, and the tensors' content
  // is undefined.
  Status run(Value value, const Call& call) const {
    for (size_t i = 0; i < nodes_.size(); i++) {
      const Lap lap(call.workspace.timer(), names_[i]);
      call.workspace.guard().doing(names_[i]);
      if (Status status = nodes_[i]->run(value, call); !status) return status;
    }
    return Done{};
  }

  // Of the first node, which alone reads the field.
  Status advise(const Value& value, const Call& call) const { return nodes_.front()->advise(value, call); }
  Status announce(const Call& call) const { return nodes_.front()->announce(call); }
  const Representation* representation(config::CacheForm form) const { return nodes_.front()->representation(form); }
  std::string_view why_unprepared() const { return nodes_.front()->why_unprepared(); }
  bool reads_json() const { return nodes_.front()->reads_json(); }
  std::string_view index_id() const { return nodes_.front()->index_id(); }

  const Nodes& nodes() const { return nodes_; }  // at least one
  // All that decides the bytes which the chain makes of a content: its operations and the code beneath them, each with
  // its version ("center-crop 1").
  const std::set<std::string>& code() const { return code_; }

 private:
  struct Place;
  config::Signature add(const config::OperationSpec& spec, const config::Signature& takes, const Place& place);

  Nodes nodes_;
  std::vector<std::string_view> names_;  // of the operations that have made the nodes
  std::set<std::string> code_;
};

}  // namespace spdld::media
