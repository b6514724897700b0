// A spec compiled against its listing: for every output, the field that it comes from and the chain of operations that
// makes its tensors. Where operations are another executor's, the chain is in segments: run() runs the first one of
// each output, and each turn of errands is followed by the segments behind them (run_turn). Constant after
// construction; any thread runs it, each with a DecodeContext of its own. The plan knows no operation and no medium:
// signatures say what fits, and chains do the work.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "config/segments.h"
#include "config/spec.h"
#include "config/text/field_path.h"
#include "daemon/base/byte_buffer.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/base/statistics.h"
#include "daemon/batch/contents.h"
#include "daemon/batch/layout.h"
#include "daemon/media/chain.h"
#include "daemon/media/text/json/json_reader.h"
#include "daemon/media/workspace.h"
#include "daemon/pipeline/errand.h"
#include "daemon/pipeline/forms/caching.h"
#include "daemon/source/files/side_files.h"
#include "daemon/source/listing.h"

namespace spdld::pipeline {

// The objects that one decode thread keeps from sample to sample.
struct DecodeContext {
  explicit DecodeContext(const media::DecodeLimits& limits = {}, uint64_t own_bytes = media::SampleMemory::kAll)
      : workspace(limits, own_bytes) {}
  // Gives back larger buffers.
  void shrink(size_t bytes_max) {
    workspace.shrink(bytes_max);
    given.shrink(bytes_max);
  }

  // The sample is done: what is kept for the next one has a bound.
  void end_sample() {
    if (!workspace.end_sample()) return;
    json.clear();
    json_memory = std::make_unique<media::MemoryPart>(&workspace.memory());
  }

  media::Workspace workspace;
  std::vector<text::JsonReader> json;  // by field that holds JSON
  std::unique_ptr<media::MemoryPart> json_memory = std::make_unique<media::MemoryPart>(&workspace.memory());
  ByteBuffer given;                       // bytes that another executor has given
  std::string name;                       // of the sample, where an output uses it
  std::vector<media::TensorOut> tensors;  // of the output that is made
  uint32_t untimed = 0;                   // samples since the last one whose operations were timed
};

class Plan {
 public:
  // Reads the files beside the data set that operations name. Throws SetupError: a field that the data set lacks,
  // operations that do not fit the field, doubled tensor names, such a file that can't be used, a stop.
  Plan(const config::PipelineSpec& spec, const source::Listing& listing, const std::stop_token& stop = {});
  Plan(const Plan&) = delete;  // what fetched() says points into it
  Plan& operator=(const Plan&) = delete;

  // The fields whose bytes each sample needs, in the order of FetchRequest::fields.
  std::span<const FieldUse> fetched() const { return fetched_; }
  // The tensors of a sample, in the order that Layout takes: outputs, each with its further tensors; what operations on
  // batches tell of it, which a Mixer writes; "sample_id"; "mask".
  std::vector<batch::TensorPlace> tensors() const { return tensors_; }
  // The versions of all that decides the bytes which the plan makes of a content, in the order of the alphabet:
  // "center-crop 1, decode-image 1, libjpeg-turbo 2.1.5, resampler 1".
  std::string code() const;
  // The state of the files beside the data set that operations have read, and 32 hexadecimal digits of their content;
  // empty: none was read.
  const source::Stamps& side_files() const { return side_files_.stamps(); }
  std::string side_digits() const { return side_files_.is_used() ? side_files_.digits() : ""; }
  bool has_mask() const { return mask_.has_value(); }
  // The work of other executors on each sample, in the order of outputs; and the number of the last turn.
  std::span<const Errand> errands() const { return errands_; }
  // Of sources whose samples another executor makes.
  std::span<const Making> makings() const { return makings_; }
  size_t turns() const;
  // Whether decode threads go on with samples behind their errands of this turn.
  bool goes_on(size_t turn) const;
  // Calls seen(output, times) for each output, with its name and the times of its operations so far.
  template <typename Seen>
  void for_each_output(Seen seen) const {
    for (const Output& output : outputs_) seen(output.name, *output.times);
  }

  // Good samples of whose sound something was left out. Any thread.
  struct Trimmed {
    Counter samples;                 // each time that one was decoded
    std::atomic<uint64_t> last = 0;  // the last one's id; while there is none, 0
  };
  const Trimmed& trimmed() const { return trimmed_; }

  struct Target {
    const batch::Layout& layout;
    uint8_t* slot;
    uint64_t index;                          // of the sample in the batch
    batch::Contents* contents = nullptr;     // takes the sample's lengths; null only where nothing varies
    std::span<media::Carried> carried = {};  // of the sample: Passage::carried
    uint32_t shape() const { return contents == nullptr ? 0 : contents->shape; }  // of the batch
  };
  struct Sample {
    const source::Listing& listing;
    uint64_t id;
    std::span<FieldBytes> fields;  // as fetched(); a field that is prepared on the way has the prepared form afterwards
  };
  // Makes every tensor of a sample; of outputs that have errands, what these take. kContent: the sample's bytes are bad
  // (the tensors' content is undefined, and the sample's lengths are 0).
  Status run(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const;
  // Goes on with the outputs that had errands of this turn.
  Status run_turn(size_t turn, const Sample& sample, const Draws& draws, DecodeContext& context,
                  const Target& target) const;
  // Zeroes every tensor of a sample, with mask 0 and its id. Where samples differ in length, it has no values.
  void write_masked(uint64_t sample, const Target& target) const;

 private:
  // A value in a field that holds JSON.
  struct JsonValue {
    size_t field;  // a place in json_
    std::vector<config::JsonStep> steps;
  };
  // The segments behind the first one, in pairs: another executor's errand, and what decode threads do with its result.
  struct Further {
    size_t errand;                      // of errands_
    std::optional<media::Chain> chain;  // none: the errand writes the slot
  };
  struct Output {
    std::string name;
    std::vector<size_t> tensors;  // its own, then the further tensors of its operations
    std::optional<size_t>
        varying;          // the place of its own in batch::Layout::varying(); none: its samples have one shape
    uint64_t length_max;  // of a sample, where it varies
    config::TooLong too_long;
    source::FieldId field;
    source::FieldKind kind;
    std::optional<size_t> fetched;  // index into fetched(); none: the field is known from the listing
    std::optional<JsonValue> json;  // replaces the field's bytes
    media::Chain chain;             // the first segment
    std::vector<Further> further;
    std::optional<size_t> view;  // its number
    std::unique_ptr<media::WorkTimes> times = std::make_unique<media::WorkTimes>();
  };

  static std::vector<Making> makings_of(const config::PipelineSpec& spec);
  Output compile(const config::OutputSpec& spec, std::span<const config::OutputSpec> all,
                 const source::Listing& listing);
  // The segments of an output behind its first one.
  std::vector<Further> compile_further(const config::OutputSpec& spec, std::span<const config::Segment> segments,
                                       const config::Followed& followed);
  size_t fetch_index(source::FieldId field);
  size_t json_index(size_t fetched);
  size_t add_tensor(batch::TensorPlace tensor);
  size_t add_rows(const std::string& name, config::DType dtype, std::vector<int64_t> shape);
  size_t add_shaped(const std::string& name, const config::Signature& end);
  size_t add_varying(const config::OutputSpec& spec, const config::Signature& end, uint64_t length_max);
  void note_representations();
  void note_shared();
  void note_placed(std::span<const config::OutputSpec> specs, const source::Listing& listing);
  std::optional<size_t> tensor_of(const config::NamedValueType& value, std::span<const config::OutputSpec> specs,
                                  const source::Listing& listing) const;

  void clear_lengths(const Target& target) const;
  static void open_length(const Output& output, const Target& target, media::TensorOut& out);
  // Sets context.tensors: where the output's segment writes. kMemory: there is no room.
  Status open_tensors(const Output& output, size_t segment, DecodeContext& context, const Target& target) const;
  // The output's segment has ended: its errand may write the slot.
  void hand_on(const Output& output, size_t segment, const Target& target) const;
  Status run_further(const Output& output, size_t turn, const Sample& sample, const Draws& draws,
                     DecodeContext& context, const Target& target) const;
  // The value that an output's chain starts from, and the field or the reader that holds the value.
  struct Start;
  static Status begin(const Output& output, const Sample& sample, DecodeContext& context, Start& start);
  Status advise(const Sample& sample, const Draws& draws, DecodeContext& context) const;
  Status announce(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const;
  RowPart part_of(const Sample& sample) const { return has_rows_ ? sample.listing.part_of(sample.id) : RowPart(); }
  Status run_output(const Output& output, const Sample& sample, const Draws& draws, DecodeContext& context,
                    const Target& target) const;
  Status read_json(const Sample& sample, DecodeContext& context) const;

  source::BoundedSideFiles side_files_;
  mutable Trimmed trimmed_;
  const bool has_rows_;  // samples are parts of records
  std::vector<FieldUse> fetched_;
  std::vector<batch::TensorPlace> tensors_;
  std::vector<Output> outputs_;
  std::vector<Errand> errands_;
  std::vector<Making> makings_;
  std::vector<size_t> order_;            // in which a sample runs the outputs
  std::vector<size_t> asked_;            // the outputs whose boxes decide the geometry of their view
  std::vector<size_t> shared_;           // the outputs that start from a field with others, or that have an index
  std::vector<size_t> json_;             // fetched fields that hold JSON; each is read once a sample
  size_t varying_ = 0;                   // how many outputs have samples that differ in length
  std::vector<std::string> batch_code_;  // of the operations on batches
  size_t sample_id_ = 0;
  std::optional<size_t> mask_;
};

}  // namespace spdld::pipeline
