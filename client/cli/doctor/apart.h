// Work that may hang, such as a look at a file system or a driver: each piece is done by a child process, which is
// ended when its time is over. Called while this process has one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spdld::cli::doctor {

inline constexpr size_t kAtOnceMax = 16;
inline constexpr size_t kAnswerBytesMax = 65'536;  // what is longer is cut

using Work = std::function<std::string()>;

// The answers, in their order. Nothing: that work was not done in `limit_s`, or its process died. At most kAtOnceMax
// pieces are done at once.
std::vector<std::optional<std::string>> do_apart(const std::vector<Work>& works, double limit_s);

}  // namespace spdld::cli::doctor
