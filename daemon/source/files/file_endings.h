// How the names of files end that a folder stands for: endings with blanks between them, such as ".tar .tar.gz".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::source {

inline constexpr std::string_view kArchiveEndings = ".tar .tar.gz .tgz .tar.zst";

// The part of the name before its ending; none: it has none of the endings, or is hidden.
std::optional<std::string_view> stem_of(std::string_view name, std::string_view endings);
// "*.tar, *.tar.gz, *.tgz or *.tar.zst"
std::string words_of_endings(std::string_view endings);
// Throws SetupError where two names differ in their endings alone: a.tar beside a.tar.gz would be the same samples
// twice. `folder` is for the error.
void refuse_twins(const std::vector<std::string>& names, std::string_view endings, const std::string& folder);

}  // namespace spdld::source
