// The executors that every node has. Control thread.
#pragma once

#include <vector>

#include "daemon/base/fair_pool.h"
#include "daemon/pipeline/executor.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::node {

// In the order of a sample's way. Adding an executor is a line of this function. The pool and the fetcher outlive
// the executors.
std::vector<pipeline::Executor> executors_of(FairPool& pool, source::LocalFetcher& fetcher);

}  // namespace spdld::node
