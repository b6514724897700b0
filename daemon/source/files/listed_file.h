// A local file of a data set, opened when it is read: it must be the file that was listed.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/result.h"
#include "daemon/store/object.h"
#include "daemon/store/view.h"

namespace spdld::source {

class Bounds;

// `bounds`: where it must lie; null: anywhere. `what` begins the errors: "the archive /a.tar". A file of another
// identity is bad content, whose sentence says so, also where it changes later.
Result<std::unique_ptr<store::View>> open_listed_file(const Bounds* bounds, const std::string& path,
                                                      const store::Identity& identity, const std::string& what);

}  // namespace spdld::source
