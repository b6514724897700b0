// Pictures without classes: all files of a folder, with the folders in it, that have one of the extensions.
#include <utility>

#include "daemon/source/annotations/annotated_pictures.h"
#include "daemon/source/fingerprint.h"

namespace spdld::source {

std::unique_ptr<Listing> open_images(const SourceOpening& opening) {
  const DataRoot root = data_root(opening);
  const Endings endings(opening.text("extensions"));
  FileTree tree = read_tree(root, {"", "uri", endings}, opening);
  AnnotatedParts parts{root, {}};
  parts.files.push_back({"image", std::move(tree.paths), std::move(tree.identities)});
  Fingerprint fingerprint;
  fingerprint.add_text("images");
  fingerprint.add_text(parts.files[0].paths.texts());
  parts.fingerprint = fingerprint.digits();
  parts.remarks = std::move(tree.remarks);
  if (tree.others.count > 0) parts.remarks.add(others_left_out(tree.others, endings));
  parts.is_unchanged = std::move(tree.is_unchanged);
  return list_annotated(std::move(parts));
}

}  // namespace spdld::source
