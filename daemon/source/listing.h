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
#include <utility>

#include "config/spec.h"
#include "daemon/source/remarks.h"

namespace spdld::source {

class Bounds;

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
  // Whether locate() has nothing of this fetched field for the sample.
  virtual bool lacks(uint64_t sample, FieldId field) const { return locate(sample, field).path.empty(); }
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
  // What was passed over and why: the first 100 sentences, and how many there are. missing(): those of them that tell
  // of samples that are lost, or may be (an unreadable folder, a cut archive's tail).
  virtual const Remarks& said() const;
  std::span<const std::string> remarks() const { return said().all().first; }
  uint64_t remark_count() const { return said().all().count; }
  std::span<const std::string> missing() const { return said().missing().first; }
  uint64_t missing_count() const { return said().missing().count; }
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

  // Where its files must lie; null: anywhere.
  const Bounds* bounds() const { return bounds_.get(); }
  // Before anybody else has the listing.
  void set_bounds(std::shared_ptr<const Bounds> bounds) { bounds_ = std::move(bounds); }

  // None where there is no such field.
  const Field* find_field(std::string_view name, FieldId* id) const;

 private:
  std::shared_ptr<const Bounds> bounds_;
};

// Told from the thread that called open_listing, at most some ten times a second. `what` is counted: "pictures" of an
// image folder (`total`: those of the kept listing, which may be more or fewer than there are now; 0: there is none), or
// "bytes of archives" of a webdataset. It lives as long as the program.
using Progress = std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

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
// no tar; and for a listing that misses something (Listing::missing), unless `spec.on_missing` says to go on with the
// rest: a tar cut in the middle then gives the samples before the cut. `stop` ends it early with Trouble::kStopping.
// image-folder reads the parameter `extensions` (text, "jpg,jpeg" if absent): comma-separated, in any case. webdataset's
// uris are archives and folders of archives, with braces and wildcards (archive_search.h).
//
// `kept`: a folder (made where it is missing) in which listings outlive the daemon; empty: none. Folders and archives
// that are as they were, by size, inode and times, are taken from there, and only the others are read; the listing is
// the same as without. The folder may be shared by daemons of one user; damage to it costs time alone. Trouble with it
// is no reason not to list: `use` says it.
//
// `bounds`: with them a data set is refused (kDenied) that has a link to a folder, a picture or an archive outside, or a
// folder or an archive that the daemon may not read. What leads outside later is bad content when it is fetched.
std::unique_ptr<Listing> open_listing(const config::SourceSpec& spec, const Progress& progress, std::stop_token stop,
                                      const std::filesystem::path& kept = {}, KeptUse* use = nullptr,
                                      std::shared_ptr<const Bounds> bounds = nullptr);

// Throws SetupError with the first of the sentences, where there are any and the source's on_missing is "refuse".
void check_missing(const config::SourceSpec& spec, const Remarks::Sentences& missing);

}  // namespace spdld::source
