// The samples of a data set. A Listing is made once for a pipeline (which may take minutes: progress is told) and never
// changes afterwards; any thread reads it without a lock. Sample ids are 0 .. size()-1 in a fixed order: sorted by
// class and name for an image folder (as torchvision's ImageFolder), by archive and place for a webdataset.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/signature.h"
#include "config/spec.h"
#include "daemon/base/row_part.h"
#include "daemon/source/remarks.h"
#include "daemon/store/locator.h"
#include "daemon/store/stores.h"

namespace spdld::source {

class Bounds;

// Stands for the weight of a sample that has none.
inline constexpr double kNoWeight = -1;

using store::Locator;
using FieldId = uint16_t;

enum class FieldKind : uint8_t {
  kFetched,  // bytes that a Fetcher reads from a Locator
  kInteger,  // known from the listing (class)
  kText,     // known from the listing (path)
};

struct Field {
  std::string name;
  FieldKind kind;
  std::optional<config::RawValues> raw = {};  // of kFetched: the numbers that its bytes are; none: this is not known
};

class Listing {
 public:
  virtual ~Listing() = default;

  virtual uint64_t size() const = 0;
  virtual std::span<const Field> fields() const = 0;
  virtual Locator locate(uint64_t sample, FieldId field) const = 0;
  // The most requests that its stores take at once; 0: no locator has a store, since all its bytes lie in local files
  // as they are.
  virtual unsigned store_concurrency() const { return 0; }
  // Whether bytes come from another machine.
  virtual bool is_remote() const { return store_concurrency() > 0; }
  // Whether expect() brings samples into the memory of their store, so that a decode thread mostly finds their bytes at
  // hand (Fetcher::fetch_at_hand).
  virtual bool is_at_hand() const { return false; }
  // Whether samples of this sample's source may lack this fetched field, as far as the listing knows: false spares a
  // look at each of them.
  virtual bool may_lack(uint64_t /*sample*/, FieldId /*field*/) const { return true; }
  // Whether the sample lacks this fetched field.
  virtual bool lacks(uint64_t sample, FieldId field) const { return locate(sample, field).path.empty(); }
  virtual int64_t integer(uint64_t sample, FieldId field) const = 0;
  // The sample's name for people and error lists, which is also a kText field's value: the path relative to the
  // source's folder, or "archive.tar:key". Bytes as the file system or archive has them: not always UTF-8.
  virtual std::string name(uint64_t sample) const = 0;
  // 32 hexadecimal digits (XXH3, 128 bits): two nodes whose fingerprints agree list the same samples in the same order.
  // For an image folder it covers the classes and relative paths (sizes would cost a stat for each file); for a
  // webdataset the archives' base names, the keys, extensions, offsets and sizes. Neither covers the root folder or
  // times: copies of a data set agree.
  virtual const std::string& fingerprint() const = 0;
  // Of samples that code of a user's makes: the user. Others who claim the same code must not find what the cache has
  // of them. Empty: the source's files are theirs who may read them.
  virtual std::string owner() const { return {}; }
  virtual uint64_t memory_bytes() const = 0;
  // Names of the classes in order of their number; empty where there are none.
  virtual std::span<const std::string> classes() const = 0;
  // Whether samples have weights, by a column of the source (config::SourceSpec::weights_column), and the weight of
  // one.
  virtual bool has_weights() const { return false; }
  virtual double weight(uint64_t /*sample*/) const { return kNoWeight; }
  // The sample's group, by a column of the source (config::SourceSpec::groups_column); empty: it has none.
  virtual std::string group(uint64_t /*sample*/) const { return {}; }
  // Remarks on files that were passed over, and why: the first 100 sentences, and how many there are. missing() has the
  // sentences about samples that are lost, or may be (an unreadable folder, a cut archive's tail).
  virtual const Remarks& said() const;
  std::span<const std::string> remarks() const { return said().all().first; }
  uint64_t remark_count() const { return said().all().count; }
  std::span<const std::string> missing() const { return said().missing().first; }
  uint64_t missing_count() const { return said().missing().count; }
  // Whether the folders or archives are unchanged since they were listed, as stamps.h says. Asks the file system: for
  // the listing's thread, not for the control thread.
  virtual bool unchanged() const = 0;

  // The first sample of each archive, in order, for an order that reads archives one after the other. Equal numbers:
  // the earlier archives are empty. None: the listing is one archive. A webdataset's archives are its tar archives. An
  // image folder's archives are its classes: reading one class after the other is fastest there, but a window should
  // hold samples of many classes, or its batches have only a few.
  virtual std::span<const uint64_t> archive_starts() const { return {}; }

  // How the bytes come where archives are read in long runs (archive_streams.h); null: sample by sample.
  struct Streaming {
    uint64_t bytes = 0;         // of all samples
    uint64_t bytes_max = 0;     // that are held in memory
    bool goes_forward = false;  // some archive is compressed: an earlier sample than the last ones costs a restart
  };
  virtual const Streaming* streaming() const { return nullptr; }
  // Says that a sample will be read soon: `place` and `horizon` as store::streams::BlockStore::expect() has them.
  // Nothing blocks.
  virtual void expect(uint64_t /*sample*/, uint64_t /*place*/, uint64_t /*horizon*/) const {}

  // The parts of a listing that joins several listings (joined.h), in order. They live as long as the joined listing.
  struct JoinedPart {
    std::string name;
    const Listing* listing;
    uint64_t first;  // the id of its first sample
  };
  virtual std::span<const JoinedPart> parts() const { return {}; }

  // --- Rows ---
  //
  // A sample is a record, as the source holds it; or it is a row, which is made of records (daemon/rows). Then several
  // samples may share a record, and a sample may have several records.
  virtual bool has_rows() const { return false; }
  virtual uint64_t record_count() const { return size(); }
  virtual uint64_t record_of(uint64_t sample) const { return sample; }  // the first of its records
  virtual RowPart part_of(uint64_t /*sample*/) const { return {}; }
  // Whether samples have a part of this field's bytes, so that no copy of the field stands for a sample.
  virtual bool cuts(FieldId /*field*/) const { return false; }
  // Whether the sample's bytes of this field are several pieces; then they are written to `pieces`, in order, each with
  // its length.
  virtual bool gather(uint64_t /*sample*/, FieldId /*field*/, std::vector<Locator>& /*pieces*/) const { return false; }
  // The listing of the records that the rows are made of, which names them; null: samples are records, or several
  // listings are joined.
  virtual const Listing* records() const { return nullptr; }
  virtual uint64_t first_row(uint64_t record) const { return record; }  // record <= record_count()

  // Whether the condition of its source (`where`) does not take the sample, and how many samples it does not take. Such
  // a sample keeps its id and its fields; the order leaves it out.
  virtual bool is_untaken(uint64_t /*sample*/) const { return false; }
  virtual uint64_t untaken_count() const { return 0; }

  // The folders in which its files must lie; null: anywhere.
  const Bounds* bounds() const { return bounds_.get(); }
  const std::shared_ptr<const Bounds>& shared_bounds() const { return bounds_; }
  // To be called before anybody else has the listing.
  void set_bounds(std::shared_ptr<const Bounds> bounds) { bounds_ = std::move(bounds); }

  // The field of this name and its id; nullptr where there is no such field.
  const Field* find_field(std::string_view name, FieldId* id) const;

 private:
  std::shared_ptr<const Bounds> bounds_;
};

// Progress of a listing, told on the thread that called open_listing, at most some ten times a second. `what` names
// what is counted: "pictures" of an image folder, or "bytes of archives" of a webdataset; the text lives as long as the
// program. For pictures, `total` is the number in the kept listing, which may be more or fewer than there are now; 0:
// there is no kept listing.
using Progress = std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

// The use that a kept listing was.
struct KeptUse {
  uint64_t taken = 0;   // folders (archives) taken from the kept listing, unchanged
  uint64_t read = 0;    // folders (archives) that were read
  std::string trouble;  // why this listing could not be kept; empty where it was, or need not be

  void add(const KeptUse& part) {  // of a listing that has several
    taken += part.taken;
    read += part.read;
    if (trouble.empty()) trouble = part.trouble;
  }
};

// Where a data set may lie.
struct Places {
  std::shared_ptr<const Bounds> bounds = {};         // of local files; null: anywhere
  std::shared_ptr<const store::Stores> stores = {};  // the remote stores that it may use; null: none
  uid_t user = 0;                                    // whose pipeline it is
};

// Throws SetupError with the first of the sentences, where there are any and the source's on_missing is "refuse".
void check_missing(const config::SourceSpec& spec, const Remarks::Sentences& missing);

}  // namespace spdld::source
