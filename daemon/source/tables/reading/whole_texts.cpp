#include "daemon/source/tables/reading/whole_texts.h"

#include <optional>

#include "daemon/base/result.h"
#include "daemon/source/tables/reading/block_reader.h"

namespace spdld::source {

std::vector<std::string> whole_texts(DataFiles& files, const Indexing& indexing, uint64_t bytes_max) {
  const auto read = [&](store::View& view, const DataFile& file, std::atomic<uint64_t>& done) {
    if (file.bytes > bytes_max)
      throw SetupError(Trouble::kLimit,
                       file.name + " has more than the limit of " + std::to_string(bytes_max) + " bytes.");
    BlockReader reader(view, done, indexing.stop);
    reader.have(bytes_max);
    std::string text(reader.text());
    reader.drop(text.size());
    return text;
  };
  return index_files<std::string>(
      files, indexing,
      {read, [](const std::string& text) { return text; },
       [](std::string_view bytes, const DataFile&) { return std::optional(std::string(bytes)); }});
}

}  // namespace spdld::source
