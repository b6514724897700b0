// What a pipeline file says, typed and checked. Plain values; no thread owns them.
//
// A PipelineSpec only comes out of config/load.h, which has checked every key against config/catalogue.h: whoever reads
// one may rely on its bounds. What needs the data set's own listing (does `from` exist there?) is checked by the
// daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spdld::config {

class Json;

enum class DType : uint8_t { kUint8, kInt32, kInt64, kFloat16, kBfloat16, kFloat32, kFloat64 };
enum class Layout : uint8_t { kNhwc, kNchw };

// Bytes of one element; the name as users write it ("float16").
size_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);
// The way back, for a parameter that the catalogue has checked (throws std::logic_error on any other text).
DType dtype_named(std::string_view name);
Layout layout_named(std::string_view name);  // "NHWC", "NCHW"

// Where a value was written, for errors: line 0 where there is none (a spec that came as JSON).
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

  // Precondition: the catalogue gives this operation such a parameter of this type (throws std::logic_error else).
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;
};

struct OutputSpec {
  std::string name;  // of the tensor in the batch: [A-Za-z_][A-Za-z0-9_.-]*, unique; "sample_id" and "mask" are taken
  // The sample's field: image, class, path; or a member's extension, several of them, or a JSON value in one, as
  // config/field_path.h says.
  std::string from;
  // They chain by the catalogue's Flow and end in a tensor or an integer: a chain that was written to end in an image
  // has got its implicit `convert` here, and an output with a `dtype` its parse-int or parse-float, so that both
  // spellings are one spec.
  std::vector<OperationSpec> ops;
  Where where;
};

// Which samples of a listing are taken.
struct Selection {
  std::string include, exclude;  // absolute paths of lists, names or ids of samples; empty: none
  uint64_t first = 0;            // samples, of those that the lists leave; 0: all
};

// What becomes of a listing that misses something: a folder that can't be read, an archive that was cut, a sample
// without a member that an output wants.
enum class OnMissing : uint8_t {
  kRefuse,  // it is refused, with what is missing
  kWarn     // the rest is taken, and every client is told
};

struct SourceSpec : Selection {
  std::string type;  // a name of catalogue.h's sources()
  // Plain absolute paths, whatever form they were written in: one, or several of a webdataset, whose paths may have
  // braces and wildcards (config/uri_pattern.h).
  std::vector<std::string> uris = std::vector<std::string>(1);
  std::string fingerprint;  // of the listing, which must have this one: 32 hexadecimal digits; empty: not pinned
  Parameters parameters;
  Where where;
  // Of one of several; the only source of a pipeline has none of these, and no Selection: [order] has it.
  std::string name = {};  // [A-Za-z_][A-Za-z0-9_-]*, unique
  double weight = 0;      // of all sources or of none (0): then each counts as its number of samples
  OnMissing on_missing = OnMissing::kRefuse;
};

std::string uris_text(const SourceSpec& source);  // for people: "/a/x.tar, /b/*.tar"

// What happens to content that can't be decoded. A transient fault is never treated so: it is waited for.
enum class OnBad : uint8_t { kSubstitute, kMask, kFail };

// What of the samples that were read the node's cache keeps for later epochs and other jobs. The pixels are the same
// from every form: it does not decide which bytes come out.
enum class CacheForm : uint8_t {
  kAuto,     // the daemon chooses, by what fits
  kOff,      // nothing
  kEncoded,  // bytes as fetched
  kDecoded   // pictures as their planes, before any random operation; everything else as fetched
};
std::string_view cache_form_name(CacheForm form);  // "auto", "off", "encoded", "decoded"
CacheForm cache_form_named(std::string_view name);

// What jobs on the same pipeline share: the node's cache, each with an order of its own, or the batches themselves,
// which are decoded once. It does not decide which bytes come out.
enum class Share : uint8_t { kCache, kStream };

// How an epoch is shuffled; daemon/sampler/order.h says it exactly.
enum class Shuffle : uint8_t {
  kGlobal,  // all samples
  kWindow,  // archives in random order, and within them a window of samples at a time
  kOff,     // not at all
  kClient   // as the client says, step by step
};
Shuffle shuffle_named(std::string_view name);  // "global", "window", "off", "client"

// What stands in OrderSpec::weights where each class is to have the same sum of weights.
inline constexpr std::string_view kWeightsByClass = "class";

// How the positions of several sources lie among one another; daemon/sampler/mix.h says it exactly.
enum class MixRule : uint8_t {
  kRandom,  // weights are any numbers
  kExact    // weights are whole numbers, which hold exactly in as many positions as their sum
};

struct OrderSpec : Selection {  // of a single source
  Shuffle shuffle = Shuffle::kGlobal;
  uint64_t epochs = 1;  // 0: endless
  uint64_t window = 0;  // samples; not 0 with kWindow alone
  MixRule mix = MixRule::kRandom;
  // Weighted draws: then shuffle is kGlobal, and without weights the others are as they stand here.
  std::string weights;                    // absolute path of a file, or kWeightsByClass; empty: none
  std::string weights_column;             // as the file's header line names it; empty: it has no such line
  std::optional<double> weights_default;  // of samples that the file does not name; none: it has to name all
  bool replacement = true;                // a sample may come more than once in an epoch
  uint64_t epoch_samples = 0;             // 0: all that are taken, or have a weight above 0
};

// The end of an epoch that the batch size does not divide: a short batch, none, or one that is filled up with the first
// samples of the epoch's order.
enum class LastBatch : uint8_t { kShort, kDrop, kPad };
LastBatch last_batch_named(std::string_view name);  // "short", "drop", "pad"

struct BatchSpec {
  uint64_t size = 0;         // a rank's samples a step; exactly one of size and global_size is not 0
  uint64_t global_size = 0;  // the job's samples a step
  LastBatch last = LastBatch::kShort;
  uint32_t prefetch_depth = 4;  // the most of batches being filled or ready, beyond those the trainer holds
  uint32_t held_max = 2;        // batches a trainer may hold at once; a ring has prefetch_depth + held_max slots
  std::string device = "auto";  // as config/device.h reads it
};

// Of a pipeline's cpu_weight, in its own file and in the daemon's.
inline constexpr double kCpuWeightMin = 0.01, kCpuWeightMax = 100;

struct PipelineSpec {
  std::string name;
  uint64_t seed = 0;
  OnBad on_bad = OnBad::kSubstitute;
  // How many samples that a rank takes in an epoch may be bad: a part of them where it is below 1, else so many. None:
  // "auto", as daemon/pipeline/bad_limit.h says it.
  std::optional<double> bad_max = {};
  CacheForm cache = CacheForm::kAuto;
  Share share = Share::kCache;
  double cpu_weight = 1;  // its part of the decode threads' time beside that of other pipelines
  std::vector<SourceSpec> sources = std::vector<SourceSpec>(1);  // at least one
  OrderSpec order;
  std::vector<OutputSpec> outputs;
  BatchSpec batch;
  Where where;

  bool is_mix() const { return sources.size() > 1; }
};

// A canonical JSON text of what decides which bytes come at a position, beside what a fingerprint tells in parts of its
// own: the samples that there are and are taken (so that `uri`, `include`, `exclude` and `first` are left out), their
// weights, and the global batch (`size`, `global_size`). The same for a TOML file and the dict that says the same; keys
// sorted, defaults written out. `epochs` is left out as well: a longer run begins as the shorter one does.
std::string canonical_json(const PipelineSpec& spec);
// The same whole, as `describe` and the client's re-attach use it: feeding it to load_pipeline_json gives an equal
// spec.
Json full_document(const PipelineSpec& spec);
std::string full_json(const PipelineSpec& spec);

}  // namespace spdld::config
