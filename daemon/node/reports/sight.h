// The sight that one asker has of other users. Root and the daemon's own user see everything; any other user sees
// their own processes, job groups and paths alone. Control thread only (looks names up in the user database).
#pragma once

#include <string>

#include "daemon/control/service.h"
#include "daemon/node/access/access.h"
#include "daemon/node/pipelines/pipelines.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

class Sight {
 public:
  // The state outlives it.
  Sight(const State& state, Asker asker) : state_(state), asker_(asker) {}

  bool of_everything() const;
  bool of_user(uid_t uid) const;
  // Whether that session is the asker's own, or another one of the same user.
  bool of(const control::Client& other) const;
  // Whether the pipeline may be seen at all: a user's own spec, and a named pipeline that this user may use. Nobody
  // sees a pipeline that is there for looking alone.
  bool of(const Pipelines::Entry& entry) const;
  // Whether the asker may see the paths of the pipeline's spec. The paths of a named pipeline are the operator's.
  bool of_paths(const Pipelines::Entry& entry) const;

  // The spec and a sentence about the pipeline, with "..." in the place of paths that the asker may not see.
  config::PipelineSpec spec(const Pipelines::Entry& entry) const;
  std::string sentence(const Pipelines::Entry& entry, const std::string& text) const;

 private:
  const State& state_;
  const Asker asker_;
};

// The spec's folders and lists, and the files that its operations name.
control::HiddenPaths hidden_paths(const config::PipelineSpec& spec);

}  // namespace spdld::node
