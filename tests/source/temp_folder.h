// A folder that is there for one test, and how tests open listings: what is missing is a remark, but for not_whole().
// One thread.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>

#include "daemon/base/result.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/temp_dir.h"

namespace spdld::test {

class TempFolder : public TempDir {
 public:
  std::string operator/(const std::string& name) const { return (path() / name).string(); }
  void folder(const std::string& name) const { std::filesystem::create_directories(path() / name); }
  void file(const std::string& name, const std::string& content = "x") const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << content;
  }
  void link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, path() / name);
  }
};

inline std::unique_ptr<source::Listing> open(const std::string& type, const std::string& uri,
                                             const config::Parameters& parameters = {},
                                             const source::Progress& progress = {}, std::stop_token stop = {}) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {uri};
  spec.parameters = parameters;
  spec.on_missing = config::OnMissing::kWarn;
  return source::open_listing(spec, progress, std::move(stop));
}

// Why what is not whole is refused, as it is by default; empty: it is not.
inline std::string not_whole(const std::string& type, const std::string& uri) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {uri};
  try {
    source::open_listing(spec, {}, {});
  } catch (const SetupError& error) {
    return error.error().trouble == Trouble::kContent ? error.what() : std::string("of another kind: ") + error.what();
  }
  return {};
}

// The sentence with which a listing is refused.
inline Error refusal(const std::string& type, const std::string& uri, const config::Parameters& parameters = {}) {
  try {
    open(type, uri, parameters);
  } catch (const SetupError& error) {
    return error.error();
  }
  return {Trouble::kInternal, "it was not refused"};
}

}  // namespace spdld::test
