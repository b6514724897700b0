// A batch as Python holds it. Its last reference may end on any thread, and the end may wait for a GPU: after the
// loader's end for all work on the batch, which may be a Python function. So the GIL is not held meanwhile.
#pragma once

#include <spdld.hpp>

namespace spdld::python {

// Takes over the only reference. `follows_gpu`: the batch lies in GPU or pinned memory. The end of a host batch waits
// for nothing, and keeps the GIL.
spdld::Batch hold(spdld_batch* batch, bool follows_gpu);

}  // namespace spdld::python
