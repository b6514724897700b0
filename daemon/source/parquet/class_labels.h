// The names of classes that Hugging Face's datasets keep beside a Parquet file's schema: a feature of the type
// ClassLabel has its names there. The text is not trusted. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/parquet/table.h"

namespace spdld::source::parquet {

inline constexpr std::string_view kFeaturesKey = "huggingface";  // of the file's metadata

// The columns with names, in the text's order; a text in another form has none.
std::vector<ClassLabels> class_labels_in(std::string_view json);

}  // namespace spdld::source::parquet
