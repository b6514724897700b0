// What the samples are. A Listing is made once for a pipeline (which may take minutes: progress is told) and never
// changes afterwards; any thread reads it without a lock. Sample ids are 0 .. size()-1 in a fixed order: sorted by
// class and name for an image folder (as torchvision's ImageFolder), by archive and place for a webdataset.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "config/spec.h"

namespace spdld::source {

using FieldId = uint16_t;

enum class FieldKind : uint8_t {
  kFetched,  // bytes that a Fetcher reads from an Extent
  kInteger,  // known from the listing (class)
  kText,     // known from the listing (path)
};

struct Field {
  std::string name;
  FieldKind kind;
};

// Where a fetched field's bytes are: in the file named by `folder` followed by `path`. Both live as long as the
// listing, and `path` ends in NUL. They are apart so that a million paths don't each hold the folder's name.
struct Extent {
  std::string_view path;  // empty: this sample lacks the field
  uint64_t offset = 0;
  int64_t length = -1;      // -1: to the end of the file
  std::string_view folder;  // ends in '/', or is empty
};

class Listing {
 public:
  virtual ~Listing() = default;

  virtual uint64_t size() const = 0;
  virtual std::span<const Field> fields() const = 0;
  virtual Extent locate(uint64_t sample, FieldId field) const = 0;
  virtual int64_t integer(uint64_t sample, FieldId field) const = 0;
  // The sample's name for people and error lists, and what a kText field gives: the path relative to the source's
  // folder, or "archive.tar:key". Bytes as the file system or archive has them: not always UTF-8.
  virtual std::string name(uint64_t sample) const = 0;
  // 32 hexadecimal digits (XXH3, 128 bits): two nodes whose fingerprints agree list the same samples in the same order.
  // An image folder's is over the classes and relative paths (sizes would cost a stat a file); a webdataset's over the
  // archives' base names, the keys, extensions, offsets and sizes. Neither knows the root folder or times: copies of a
  // data set agree.
  virtual const std::string& fingerprint() const = 0;
  virtual uint64_t memory_bytes() const = 0;
  // Names of the classes in order of their number; empty where there are none.
  virtual std::span<const std::string> classes() const = 0;
  // Files that were passed over and why (a member without a key, a cut archive's tail): the first 100, and how many in
  // all.
  virtual std::span<const std::string> remarks() const = 0;
  virtual uint64_t remark_count() const = 0;
  // Whether the folders or archives are as they were when they were listed, by their modification times. Asks the file
  // system: for the listing's thread, not for the control thread.
  virtual bool unchanged() const = 0;

  // The first sample of each archive, in order, for an order that reads them one after the other; equal ones: the
  // earlier archives are empty. None: all is one archive. A webdataset's are its tar archives. An image folder's are
  // its classes: reading one after the other is as quick as it gets there, but a window should hold samples of many of
  // them, else its batches are of a few classes alone.
  virtual std::span<const uint64_t> archive_starts() const { return {}; }

  // Of a listing that joins several (joined.h): those, in order. They live as long as it.
  struct Part {
    std::string name;
    const Listing* listing;
    uint64_t first;  // the id of its first sample
  };
  virtual std::span<const Part> parts() const { return {}; }

  // None where there is no such field.
  const Field* find_field(std::string_view name, FieldId* id) const;
};

// Told from the thread that called open_listing, at most some ten times a second. An image folder counts the pictures
// found
// (`total` is 0: unknown until the end), a webdataset the bytes of archives gone through.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

// The path that `uri` means: of file:///a%20b ("/a b"), or the plain path as it is. Throws SetupError for another
// scheme, another machine in the uri, or a relative path.
std::string local_path(const std::string& uri);

// What keeping a listing gave.
struct KeptUse {
  uint64_t taken = 0;   // folders (archives) that were as they had been kept
  uint64_t read = 0;    // those that were read
  std::string trouble;  // a sentence: why this listing could not be kept; empty where it was, or need not be
};

// Lists `spec`: "image-folder" (image, class, path) or "webdataset" (the members' extensions, path). Symlinks are
// followed. Throws SetupError with a sentence for a missing or empty folder, one without a picture, an archive that is
// no tar. A tar cut in the middle gives the samples before the cut and a remark. `stop` ends it early with
// Trouble::kStopping. image-folder reads the parameter `extensions` (text, "jpg,jpeg" if absent): comma-separated, in
// any case. webdataset takes one archive, a folder whose *.tar it sorts by name, or a path with one range of numbers:
// a-{000..127}.tar.
//
// `kept`: a folder (made where it is missing) in which listings outlive the daemon; empty: none. Folders and archives
// that are as they were, by size, inode and times, are taken from there, and only the others are read; the listing is
// the same as without. The folder may be shared by daemons of one user; damage to it costs time alone. Trouble with it
// is no reason not to list: `use` says it.
std::unique_ptr<Listing> open_listing(const config::SourceSpec& spec, const Progress& progress, std::stop_token stop,
                                      const std::filesystem::path& kept = {}, KeptUse* use = nullptr);

}  // namespace spdld::source
