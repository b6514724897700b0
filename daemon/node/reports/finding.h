// Which open pipeline an asker means by a name. Several may have one name: a pipeline file that was edited between two
// runs gives another pipeline. Control thread only.
#pragma once

#include <set>
#include <string>

#include "daemon/base/result.h"
#include "daemon/node/access/access.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// The open pipeline of this name that the asker may see; an error says why there is none.
//
//   "train"    of the pipelines of this name the one with a trainer. Where several have one, the pipeline that is shown
//              as "train", else the youngest. Where none has one, the pipeline that had one last.
//   "train#2"  the pipeline that is shown so
//   "train#1"  the pipeline that is shown as "train"
Result<const Pipelines::Entry*> find_pipeline(const State& state, Asker asker, const std::string& name);

// The pipeline of this name in which a job has a seat that belongs to this group and to the asker's own user. A
// pipeline that was opened for looking alone is found in this way, and in no other.
Result<const Pipelines::Entry*> find_pipeline_of(const State& state, Asker asker, const std::string& name,
                                                 const std::string& group);

// The operator's pipelines that nobody has opened.
std::set<std::string> available_pipelines(const State& state, Asker asker);

Error not_open(const std::string& name);
Error still_being_listed(const std::string& name);

}  // namespace spdld::node
