// The kinds of listing, for open_listing alone. listing.h explains `bounds` (nullptr: none), threads and errors.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/archive_streams.h"
#include "daemon/source/listing.h"
#include "daemon/store/stores.h"

namespace spdld::source {

// `root`: a folder; `extensions`: the parameter's text, "jpg,jpeg".
std::unique_ptr<Listing> open_image_folder(const std::string& root, const std::string& extensions,
                                           const Progress& progress, const std::stop_token& stop,
                                           const std::filesystem::path& kept, KeptUse& use, const Bounds* bounds);

// `uris`: paths as archive_search.h takes them.
std::unique_ptr<Listing> open_webdataset(const std::vector<std::string>& uris, const Progress& progress,
                                         const std::stop_token& stop, const std::filesystem::path& kept, KeptUse& use,
                                         const Bounds* bounds);

// A source in remote stores: its uris, which all lie there.
struct RemoteSource {
  const std::vector<std::string>& uris;
  const std::shared_ptr<const store::Stores>& shared_stores;
  bool samples_listing;  // as config::SourceSpec
  ArchiveAccess access = {};
};

// As open_image_folder and open_webdataset.
std::unique_ptr<Listing> open_remote_image_folder(const RemoteSource& source, const std::string& extensions,
                                                  const Progress& progress, const std::stop_token& stop,
                                                  const std::filesystem::path& kept, KeptUse& use);
std::unique_ptr<Listing> open_remote_webdataset(const RemoteSource& source, const Progress& progress,
                                                const std::stop_token& stop, const std::filesystem::path& kept,
                                                KeptUse& use);

// The listings of tables (daemon/source/tables). Each reads its own parameters from the spec; `uris` are its paths, as
// archive_search.h takes them.
struct TableOpening {
  const config::SourceSpec& spec;
  const std::vector<std::string>& uris;
  const Progress& progress;
  const std::stop_token& stop;
  const std::filesystem::path& kept;
  KeptUse& use;
  const Bounds* bounds;

  // A parameter's text; empty where it is absent.
  std::string text(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
};
std::unique_ptr<Listing> open_manifest(const TableOpening& opening);
std::unique_ptr<Listing> open_npy(const TableOpening& opening);
std::unique_ptr<Listing> open_records(const TableOpening& opening);
std::unique_ptr<Listing> open_tfrecord(const TableOpening& opening);
std::unique_ptr<Listing> open_mds(const TableOpening& opening);

}  // namespace spdld::source
