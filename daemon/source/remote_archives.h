// Finds the archives in remote stores that a webdataset's uris stand for. Each uri's braces are expanded
// (config/uri_pattern.h), and each uri after that is one of these, looked for in this order:
//
//   a uri with wildcards    the objects that fit it, sorted: the store is asked for a list
//   an object's name        that archive
//   the name of a folder    the archives *.tar right below it, sorted by name: the store is asked for a list
//
// A web server has no lists, so that its archives are named one by one, or with braces.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/store/stores.h"

namespace spdld::source {

struct RemoteArchive {
  std::string uri;
  std::string object;  // the end of `uri`
  std::shared_ptr<store::Store> store;
  store::Identity identity;
  bool is_same(const RemoteArchive& other) const { return uri == other.uri && identity == other.identity; }
};

// One thread. Throws SetupError: nothing fits a uri, an archive is missing or comes twice, there are more than
// config::kUriPathsMax, or the pipeline may not read there.
std::vector<RemoteArchive> find_remote_archives(const std::vector<std::string>& uris, const store::Stores& stores,
                                                const std::stop_token& stop);

}  // namespace spdld::source
