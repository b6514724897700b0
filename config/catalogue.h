// The one table of sources, and the help on operations and sources. The checks of config/load.h, `spdlctl ops` and the
// documentation all read the tables; the daemon binds each name to code (a test holds the two together). Constant
// data; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "config/parameter.h"
#include "config/signature.h"

namespace spdld::config {

struct SourceType {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> fields;  // fields that every sample has; empty where the data decides (webdataset)
  std::vector<Parameter> parameters;
};

std::span<const SourceType> sources();
const SourceType* find_source(std::string_view name);

// The field that the samples of a mix have in addition: the number of their source, in the file's order. Every sample
// of a single source would have 0.
inline constexpr std::string_view kSourceField = "source";
// The field of every sample that holds its name.
inline constexpr std::string_view kNameField = "path";

// The signature of a source's field: an integer for image-folder's class, bytes for all others.
Signature field_signature(const SourceType& source, std::string_view field);

// The tables as text for people (`spdlctl ops`) and as JSON.
std::string operations_text();
std::string operations_json();

}  // namespace spdld::config
