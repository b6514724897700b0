// A pipeline file's content, typed and checked. Plain values; no thread owns them.
//
// A PipelineSpec only comes out of config/checks/load.h, which has checked every key against config/catalogue.h: a
// reader may rely on its bounds. The daemon makes the checks that need the data set's own listing (does `from` exist
// there?).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/text/dtype.h"

namespace spdld::config {

class Json;

// The order in which the values of a picture lie; T is the frames of a clip.
enum class Layout : uint8_t { kNhwc, kNchw, kNcthw };

Layout layout_named(std::string_view name);  // "NHWC", "NCHW", "NCTHW"

// The place where a value was written, for errors; line 0: a spec that came as JSON has no lines.
struct Where {
  std::string file;
  int line = 0;
};

// A parameter after checking: defaults are filled in, so that a reader never asks "is it there?". Integers given where
// a number is wanted arrive as double. A size of one number ("shorter side") arrives as a list of one.
using Value = std::variant<bool, int64_t, double, std::string, std::vector<double>>;
using Parameters = std::map<std::string, Value, std::less<>>;

struct OperationSpec {
  std::string op;  // a name of catalogue.h's operations()
  Parameters parameters;
  Where where;
  std::vector<OperationSpec> ops = {};  // that it holds, where its type says so

  // Precondition: the catalogue gives this operation such a parameter of this type (throws std::logic_error else).
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;
};

// How the samples of an output lie in a batch.
enum class Form : uint8_t {
  kFixed,   // all have one shape
  kPadded,  // each is filled up to the length of the batch's longest sample
  kRagged   // the values of one lie behind the values of the other, with offsets beside them
};

// The fate of a sample that is longer than its output's bound.
enum class TooLong : uint8_t {
  kBad,      // its content is bad
  kCut,      // its first values are taken
  kLeaveOut  // another sample takes its place, or it is masked; it is counted apart, and is no bad content
};

// How an output whose samples differ in length lies in a batch.
struct VaryingSpec {
  Form form = Form::kFixed;  // then nothing else counts
  uint64_t length_max = 0;   // places along the first dimension of a sample; 0: as many as the operations say
  TooLong too_long = TooLong::kBad;
  // Of kPadded. Rows are as long as the longest sample of the batch, rounded up to a multiple, and at most length_max.
  uint64_t pad_multiple = 1;
  double pad_value = 0;
  std::string lengths = {};   // name of an int64 [B] tensor with the samples' lengths; empty: none
  std::string pad_mask = {};  // name of a bool [B, L] tensor, true where a place holds a value; empty: none

  friend bool operator==(const VaryingSpec&, const VaryingSpec&) = default;
};

struct OutputSpec {
  std::string name;  // of the tensor in the batch: [A-Za-z_][A-Za-z0-9_.-]*, unique; "sample_id" is taken
  // The sample's field: image, class, path; or a member's extension, several of them, or a JSON value in one, as
  // config/text/field_path.h says.
  std::string from;
  // The operations chain by the catalogue's Flow and end in a tensor or an integer. A chain that was written to end in
  // an image or in audio has got its implicit end (`convert`) here, and an output with a `dtype` its parse-int or
  // parse-float, so that both spellings are one spec.
  std::vector<OperationSpec> ops;
  Where where;
  VaryingSpec varying = {};
  std::string view = {};  // [A-Za-z0-9_.-]+, of outputs that share one geometry (config/views.h); empty: none
};

// The texts of PartSpec::groups that are no file: samples of a folder, an archive or a table's file stay together; or
// rows that have one text in a column.
inline constexpr std::string_view kGroupsByFolder = "folder", kGroupsByColumn = "column";

// A part of a source's samples, drawn by their names; daemon/sampler/part.h says it exactly.
struct PartSpec {
  uint64_t of = 0;                   // how many parts of one size there are; 0: `fraction` says it, or there is no part
  std::vector<uint64_t> index = {};  // the numbers of the parts that are taken, in rising order, each once
  double fraction = 0;               // of all samples; above 0 and below 1, or 0 beside `of`
  bool rest = false;                 // all samples that `index` or `fraction` would not take
  uint64_t seed = 0;
  std::string groups = {};  // whose samples stay together: absolute path of a file, or a kGroupsBy...; empty: none
  std::string groups_column = {};  // beside kGroupsByColumn: which one
  bool by_class = false;           // each class is divided alike

  bool is_on() const { return of != 0 || fraction != 0; }
  bool has_groups_file() const { return !groups.empty() && groups != kGroupsByFolder && groups != kGroupsByColumn; }
};

// Which samples of a listing are taken.
struct Selection {
  // Absolute paths of lists of samples' names or ids; or an end of a line, and then the list itself; empty: none.
  std::string include, exclude;
  uint64_t first = 0;  // how many are taken of the samples that the lists and the part leave; 0: all
  PartSpec part = {};
};
// Whether an entry of a Selection is a list's path.
inline bool is_list_path(std::string_view entry) { return !entry.empty() && entry.front() != '\n'; }

// How archives are read.
enum class Access : uint8_t {
  kAuto,    // compressed archives are streamed, others are read by ranges
  kRanges,  // sample by sample
  kStream   // in large blocks; local archives that are not compressed are read by ranges all the same
};

// How to treat a listing that misses something: a folder that can't be read, an archive that was cut, a sample without
// a member that an output wants.
enum class OnMissing : uint8_t {
  kRefuse,  // the listing is refused, and the error names what is missing
  kWarn     // the rest of the listing is taken, and every client is told
};

inline constexpr uint64_t kStreamBytes = 1ull << 30;

struct SourceSpec : Selection {
  std::string type;  // a name of catalogue.h's sources()
  // Plain absolute paths, whatever form they were written in: one, or several of a webdataset, whose paths may have
  // braces and wildcards (config/uri_pattern.h). None where the type has no uri.
  std::vector<std::string> uris = std::vector<std::string>(1);
  std::string fingerprint;  // of the listing, which must have this one: 32 hexadecimal digits; empty: not pinned
  Parameters parameters;
  Where where;
  // For one of several sources. The only source of a pipeline has none of these fields, and no Selection: [order] has
  // it.
  std::string name = {};  // [A-Za-z_][A-Za-z0-9_-]*, unique
  double weight = 0;      // all sources have one, or none has (0): then the number of samples counts
  OnMissing on_missing = OnMissing::kRefuse;
  // Whether a listing of a remote store that was kept counts as unchanged where some of its pages are; false: the store
  // is asked for the whole list.
  bool samples_listing = false;
  // Of a webdataset.
  Access access = Access::kAuto;
  uint64_t stream_bytes_max = kStreamBytes;  // of archives that are read in blocks, in memory
  // Whose labels are names: the absolute path of a file with the classes in the order of their numbers
  // (daemon/source/folders/class_list.h); or an end of a line, and then the list itself; empty: as the data has them.
  std::string classes = {};
  // Of a table: the column that has the samples' weights (OrderSpec::weights_column); empty: none is wanted.
  std::string weights_column = {};
  std::string groups_column = {};  // the same of the samples' groups (PartSpec::groups_column)
};

std::string uris_text(const SourceSpec& source);  // for people: "/a/x.tar, /b/*.tar"

// How to treat content that can't be decoded. A transient fault is never treated like this: it is waited for.
enum class OnBad : uint8_t { kSubstitute, kMask, kFail };

// How to treat samples that are left out and are no bad content: user code drops them, or they are longer than an
// output with TooLong::kLeaveOut takes.
enum class OnDrop : uint8_t {
  kSubstitute,
  kShorter,  // their batch has fewer samples
  kMask
};
// Of a spec that does not say it.
constexpr OnDrop default_on_drop(OnBad on_bad) { return on_bad == OnBad::kMask ? OnDrop::kMask : OnDrop::kSubstitute; }

// The form in which the node's cache keeps samples for later epochs and other jobs. The pixels are the same from every
// form: the choice does not decide which bytes come out.
enum class CacheForm : uint8_t {
  kAuto,     // the daemon chooses, by what fits
  kOff,      // nothing
  kEncoded,  // bytes as fetched
  kIndexed,  // plain JPEGs as fetched with an index of their coded data; everything else as fetched
  kPacked,   // JPEGs as the coefficients of their blocks, which need no decoding of codes; everything else as fetched
  kDecoded   // pictures as their planes, before any random operation; everything else as fetched
};
std::string_view cache_form_name(CacheForm form);  // "auto", "off", "encoded", "indexed", "packed", "decoded"
CacheForm cache_form_named(std::string_view name);

// Whether jobs on the same pipeline share the node's cache, each with an order of its own, or the batches themselves,
// which are then decoded once. The choice does not decide which bytes come out.
enum class Share : uint8_t { kCache, kStream };

// How an epoch is shuffled; daemon/sampler/order.h says it exactly.
enum class Shuffle : uint8_t {
  kGlobal,  // all samples
  kWindow,  // archives in random order, and within them a window of samples at a time
  kOff,     // not at all
  kClient   // the client gives the samples, step by step
};
Shuffle shuffle_named(std::string_view name);  // "global", "window", "off", "client"

// The texts of OrderSpec::weights that are no file: each class has the same sum of weights; or a column of the source
// has them.
inline constexpr std::string_view kWeightsByClass = "class", kWeightsByColumn = "column";

// How the positions of several sources lie among one another; daemon/sampler/mix.h says it exactly.
enum class MixRule : uint8_t {
  kRandom,  // weights are any numbers
  kExact    // weights are whole numbers, which hold exactly in as many positions as their sum
};

struct OrderSpec : Selection {  // of a single source
  Shuffle shuffle = Shuffle::kGlobal;
  uint64_t epochs = 1;   // 0: endless
  uint64_t window = 0;   // samples; not 0 with kWindow alone
  uint64_t repeats = 1;  // rows of a sample in an epoch, one after another; each is drawn anew
  MixRule mix = MixRule::kRandom;
  // Weighted draws: then shuffle is kGlobal, and without weights the others are as they stand here.
  std::string weights;                    // absolute path of a file, or one of kWeightsBy...; empty: none
  std::string weights_column;             // as the file's header line or the source names it; empty: no header line
  std::optional<double> weights_default;  // of samples that the file or the column gives none; none: all must have one
  bool replacement = true;                // a sample may come more than once in an epoch
  uint64_t epoch_samples = 0;             // 0: all samples that are taken, or have a weight above 0

  bool has_weights_file() const {
    return !weights.empty() && weights != kWeightsByClass && weights != kWeightsByColumn;
  }
};

// The end of an epoch that the batch size does not divide: a short batch, no batch, or a batch that is filled up with
// the first samples of the epoch's order.
enum class LastBatch : uint8_t { kShort, kDrop, kPad };
LastBatch last_batch_named(std::string_view name);  // "short", "drop", "pad"

// How rows are made of records. A record is a sample as its source holds it; a row is what the order counts and a batch
// holds.
enum class RowKind : uint8_t {
  kRecords,  // each record is a row
  kTiles,    // tiles of a picture
  kClips,    // consecutive clips of a video
  kWindows,  // pieces of a field's bytes, of one length, that begin at one distance
  kPacked    // a field's bytes of all records, one after the other, cut into pieces of one length
};
std::string_view row_kind_name(RowKind kind);  // "tiles", "clips", "windows", "packed"; empty: kRecords

// daemon/rows/row_table.h says exactly which rows there are.
struct RowsSpec {
  RowKind kind = RowKind::kRecords;
  std::string from;                       // the field that is cut
  uint32_t height = 0, width = 0;         // of a tile; pixels
  uint32_t stride_y = 0, stride_x = 0;    // from tile to tile, at most their size
  uint64_t length = 0;                    // of a window or a packed row; bytes
  uint64_t stride = 0;                    // from window to window, at most their length; bytes
  bool keeps_partial = true;              // rows at the end, or at a border, that are not full
  std::optional<uint8_t> separator = {};  // of packed rows: this byte follows each record
  // Of clips: the frames of a clip, and the frames of a clip from one clip's start to the next one's, at most as many.
  uint64_t clip_frames = 0, clip_step = 0;
  uint64_t frame_stride = 1;  // frames of the video from one frame of a clip to the next one
  double fps = 0;             // above 0, in the place of the stride: frames of a clip in a second

  bool is_on() const { return kind != RowKind::kRecords; }
};

// An operation on a batch as a whole: a name of batch_operation.h's batch_operations().
struct BatchOperationSpec : OperationSpec {
  std::vector<std::string> images, labels;  // names of outputs; each once
  double share = 1;                         // the part of the samples that it mixes, above 0; their sum is at most 1
};

// The cost of a sample.
enum class Cost : uint8_t {
  kBytes,  // of a field
  kPixels  // height times width of a picture, as its file says
};

// How to treat samples that cost more than a whole batch may.
enum class CostOver : uint8_t { kRefuse, kLeaveOut };

// Batches that are bounded by their cost; daemon/sampler/buckets.h says it exactly.
struct CostSpec {
  uint64_t cost_max = 0;  // of a rank's batch: its samples times the cost of the costliest
  Cost cost = Cost::kBytes;
  std::string from;  // the field; the `from` of an output
  CostOver over = CostOver::kRefuse;
  uint64_t size_max = 0;             // a rank's samples a step
  uint64_t buckets = 0;              // at most; 0: `edges` says it
  std::vector<uint64_t> edges = {};  // the largest cost of each bucket, in rising order
};

struct BatchSpec {
  uint64_t size = 0;         // a rank's samples a step; one of size, global_size and cost says how many there are
  uint64_t global_size = 0;  // the job's samples a step
  LastBatch last = LastBatch::kShort;
  uint32_t prefetch_depth = 4;  // the most batches being filled or ready, beyond the batches held
  uint32_t held_max = 2;        // batches a trainer may hold at once; a ring has prefetch_depth + held_max slots
  std::string device = "auto";  // as config/text/device.h reads it
  std::vector<BatchOperationSpec> ops = {};
  uint64_t group = 0;  // how many neighbours are mixed with one another; divides a batch; 0: without ops
  std::string lam = {}, partner = {};  // names of further tensors; empty: none
  std::optional<CostSpec> cost = {};
};

// The processes of the user's own that run a pipeline's functions in Python. Nothing here decides which bytes come out.
struct PythonSpec {
  uint32_t processes = 0;              // 0: the daemon decides
  double call_limit_s = 60;            // a call that takes longer ends its process
  uint64_t memory_bytes_max = 0;       // of one process; 0: no limit
  uint64_t scratch_bytes = 256 << 20;  // of the memory in which samples lie for the functions, and their results
};

// The bounds of a pipeline's cpu_weight, in its own file and in the daemon's.
inline constexpr double kCpuWeightMin = 0.01, kCpuWeightMax = 100;

struct PipelineSpec {
  std::string name;
  uint64_t seed = 0;
  OnBad on_bad = OnBad::kSubstitute;
  std::optional<OnDrop> on_drop = {};  // none: default_on_drop()
  // How many of the samples that a rank takes in an epoch may be bad: below 1 a part of them, else a number of samples.
  // None: "auto", as daemon/pipeline/order/bad_limit.h explains.
  std::optional<double> bad_max = {};
  CacheForm cache = CacheForm::kAuto;
  Share share = Share::kCache;
  double cpu_weight = 1;  // weight of its share of the decode threads' time, beside other pipelines
  std::vector<SourceSpec> sources = std::vector<SourceSpec>(1);  // at least one
  RowsSpec rows = {};
  OrderSpec order;
  std::vector<OutputSpec> outputs;
  BatchSpec batch;
  PythonSpec python = {};  // of a pipeline with such functions
  Where where;

  bool is_mix() const { return sources.size() > 1; }
  OnDrop drops_by() const { return on_drop.value_or(default_on_drop(on_bad)); }
  // Whether batches have the tensor "mask".
  bool has_mask() const { return on_bad == OnBad::kMask || drops_by() == OnDrop::kMask; }
};

// A canonical JSON text of the settings that decide which bytes come at a position. Settings that a fingerprint covers
// in parts of its own are left out: the samples that there are and are taken (`uri`, `include`, `exclude`, `part`,
// `first`),
// their weights, and the global batch (`size`, `global_size`). `epochs` is left out as well: a longer run begins as the
// shorter one does. A TOML file and a dict with the same settings give the same text; keys are sorted, defaults written
// out.
std::string canonical_json(const PipelineSpec& spec);
// The whole spec, as `describe` and the client's re-attach use it: load_pipeline_json makes an equal spec of it.
Json full_document(const PipelineSpec& spec);
std::string full_json(const PipelineSpec& spec);

}  // namespace spdld::config
