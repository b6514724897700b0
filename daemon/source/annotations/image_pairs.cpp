// Pictures and their masks, in two folders: files that belong together have the same path from their folder on, but for
// the ending and, where it is given, a suffix.
#include <utility>

#include "config/parameter.h"
#include "daemon/base/result.h"
#include "daemon/source/annotations/annotated_pictures.h"
#include "daemon/source/annotations/matched_files.h"
#include "daemon/source/fingerprint.h"

namespace spdld::source {

std::unique_ptr<Listing> open_image_pairs(const SourceOpening& opening) {
  const DataRoot root = data_root(opening);
  const MatchedFolders folders{
      {opening.text("images"), "images", opening.text("extensions"), false, opening.text("image_suffix")},
      {opening.text("masks"), "masks", opening.text("mask_extensions"), false, opening.text("mask_suffix")}};
  MatchedFiles matched = match_files(root, folders, opening);
  AnnotatedParts parts{root, {{"image", {}}, {"mask", {}}}};
  for (uint64_t i = 0; i < matched.partner_of.size(); ++i) {
    const uint32_t number = matched.partner_of[i];
    if (number == kNoPartner) {
      matched.remarks.add_missing("the picture " + std::string(matched.pictures.paths[i]) + " has no mask in " +
                                  folders.partners.folder + '.');
      continue;
    }
    parts.files[0].paths.add(matched.pictures.paths[i]);
    parts.files[1].paths.add(matched.partners.paths[number]);
    if (!root.store) continue;
    parts.files[0].identities.push_back(matched.pictures.identities[i]);
    parts.files[1].identities.push_back(matched.partners.identities[number]);
  }
  if (parts.files[0].paths.size() == 0)
    throw SetupError(Trouble::kUsage, "no picture in " + root.name_of(folders.pictures.folder) + " has a mask in " +
                                          root.name_of(folders.partners.folder) + '.');
  Fingerprint fingerprint;
  fingerprint.add_text("image-pairs");
  for (const FileColumn& column : parts.files) fingerprint.add_text(column.paths.texts());
  parts.fingerprint = fingerprint.digits();
  parts.classes = config::names_in(opening.text("names"));
  parts.remarks = std::move(matched.remarks);
  parts.is_unchanged = std::move(matched.is_unchanged);
  return list_annotated(std::move(parts));
}

}  // namespace spdld::source
