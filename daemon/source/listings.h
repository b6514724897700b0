// The kinds of listing, for open_listing alone. listing.h explains `bounds` (nullptr: none), threads and errors.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/store/stores.h"

namespace spdld::source {

struct ArchiveAccess;  // archives/archive_streams.h
struct FileKind;       // files/archive_search.h
struct Indexing;       // files/data_files.h

// A source that is being opened. Each kind reads its own parameters from the spec.
struct SourceOpening {
  const config::SourceSpec& spec;
  const std::vector<std::string>& uris;  // as find_data_files() takes them
  const Progress& progress;
  const std::stop_token& stop;
  const std::filesystem::path& kept;
  KeptUse& use;
  const Places& places;
  std::span<const std::string> wanted;  // as open_listing() has them

  // A parameter's text; empty where it is absent.
  std::string text(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  // How compressed files are read, or archives in long runs.
  ArchiveAccess access(const FileKind& kind) const;
  // `key`: the type, and what else an index depends on beside the uris. `part`: a use of its own, in place of `use`.
  Indexing indexing(const FileKind& kind, std::string key, std::string_view what, KeptUse* part = nullptr) const;
};

// open_image_folder() and so on: of each type of source.
#define SOURCE(name, room) std::unique_ptr<Listing> open_##name(const SourceOpening& opening);
#include "config/sources.inc"
#undef SOURCE

}  // namespace spdld::source
