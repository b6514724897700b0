// Pictures that lie in files of their own, with what belongs to each: further files, such as a mask, and lists from a
// file of annotations, which are held in memory as texts in JSON. Constant after construction; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/source/annotations/file_tree.h"
#include "daemon/source/files/data_files.h"
#include "daemon/source/listing.h"
#include "daemon/source/tables/held_column.h"

namespace spdld::source {

// A field that is a file for each row.
struct FileColumn {
  std::string field;
  TextColumn paths;                              // from the root on; an empty one: the row lacks the file
  std::vector<store::Identity> identities = {};  // by row; empty: they are not known
};
// A field that is a list for each row.
struct ListColumn {
  std::string field;
  TextColumn texts;
};

struct AnnotatedParts {
  DataRoot root;
  std::vector<FileColumn> files;  // the first one is the pictures, and its paths name the samples
  std::vector<ListColumn> lists = {};
  std::vector<DataFile> annotations = {};    // the files from which the lists are
  std::vector<uint32_t> annotation_of = {};  // by row, a place in them; kNoAnnotation: it has none
  std::vector<std::string> classes = {};
  Remarks remarks = {};
  std::string fingerprint = {};
  std::function<bool()> is_unchanged = {};
};
inline constexpr uint32_t kNoAnnotation = UINT32_MAX;

std::unique_ptr<Listing> list_annotated(AnnotatedParts parts);

}  // namespace spdld::source
