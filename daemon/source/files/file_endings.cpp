#include "daemon/source/files/file_endings.h"

#include <algorithm>
#include <unordered_map>

#include "daemon/base/result.h"

namespace spdld::source {
namespace {

std::vector<std::string_view> split_endings(std::string_view endings) {
  std::vector<std::string_view> all;
  while (!endings.empty()) {
    all.push_back(endings.substr(0, endings.find(' ')));
    endings.remove_prefix(std::min(endings.size(), all.back().size() + 1));
  }
  return all;
}

}  // namespace

std::optional<std::string_view> stem_of(std::string_view name, std::string_view endings) {
  if (name.starts_with('.')) return {};
  for (const std::string_view ending : split_endings(endings))
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return {};
}

std::string words_of_endings(std::string_view endings) {
  const std::vector<std::string_view> all = split_endings(endings);
  std::string words;
  for (size_t i = 0; i < all.size(); ++i)
    words.append(i == 0 ? "*" : i + 1 == all.size() ? " or *" : ", *").append(all[i]);
  return words;
}

void refuse_twins(const std::vector<std::string>& names, std::string_view endings, const std::string& folder) {
  std::unordered_map<std::string_view, const std::string*> seen;
  for (const std::string& name : names) {
    const auto [at, is_new] = seen.emplace(stem_of(name, endings).value_or(name), &name);
    if (!is_new)
      throw SetupError(Trouble::kUsage, folder + " holds both " + *at->second + " and " + name +
                                            ": name the files that are meant by a wildcard, such as " + folder +
                                            (folder.ends_with('/') ? "*" : "/*") +
                                            std::string(at->second->substr(at->first.size())) + ".");
  }
}

}  // namespace spdld::source
