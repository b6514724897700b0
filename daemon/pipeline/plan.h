// A spec compiled against its listing: for every output, the field that it comes from and the program that makes its
// tensor. Constant after construction; any thread runs it, each with a DecodeContext of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/field_path.h"
#include "config/spec.h"
#include "daemon/base/random.h"
#include "daemon/base/result.h"
#include "daemon/batch/layout.h"
#include "daemon/decode/image_decoder.h"
#include "daemon/decode/json/json_reader.h"
#include "daemon/pipeline/caching.h"
#include "daemon/source/listing.h"
#include "daemon/transform/image_program.h"

namespace spdld::pipeline {

// The objects that one decode thread keeps from sample to sample.
struct DecodeContext {
  DecodeContext() : decoder(decode::make_jpeg_decoder()) {}

  std::unique_ptr<decode::ImageDecoder> decoder;
  std::vector<decode::JsonReader> json;  // by field that holds JSON
  PixelRows rows;
  std::vector<ByteBuffer> planes;  // by fetched field, of pictures that the cache does not keep
  std::string name;                // of the sample, where an output uses it
  transform::Geometry geometry;
  transform::Scratch scratch;
};

class Plan {
 public:
  // Throws SetupError: a field that the data set lacks, operations that do not fit the field, doubled tensor names.
  Plan(const config::PipelineSpec& spec, const source::Listing& listing);

  // The fields whose bytes each sample needs, in the order of FetchRequest::fields.
  std::span<const FieldUse> fetched() const { return fetched_; }
  // The tensors of a sample, in the order that Layout takes: outputs, drawn boxes, "sample_id", "mask".
  std::vector<batch::TensorPlace> tensors() const { return tensors_; }
  bool has_mask() const { return mask_.has_value(); }

  struct Target {
    const batch::Layout& layout;
    uint8_t* slot;
    uint64_t index;  // of the sample in the batch
  };
  struct Sample {
    const source::Listing& listing;
    uint64_t id;
    std::span<FieldBytes> fields;  // as fetched(); fields decoded to planes on the way become planes here
  };
  // Makes every tensor of a sample. kContent: the sample's bytes are bad (the tensors' content is undefined).
  Status run(const Sample& sample, const Draws& draws, DecodeContext& context, const Target& target) const;
  // Zeroes every tensor of a sample, with mask 0 and its id.
  void write_masked(uint64_t sample, const Target& target) const;

 private:
  struct ImageOutput {
    transform::ImageProgram program;
    size_t fetched;  // index into fetched()
    std::optional<size_t> box_tensor;
  };
  struct IntegerOutput {};  // from decimal text, or known from the listing
  struct FloatOutput {
    bool is_float32;  // else float64
  };
  struct BytesOutput {
    size_t length;
  };
  // A value in a field that holds JSON.
  struct JsonValue {
    size_t field;  // a place in json_
    std::vector<config::JsonStep> steps;
  };
  struct Output {
    std::string name;
    size_t tensor;
    source::FieldId field;
    std::optional<size_t> fetched;  // none: the field is known from the listing
    std::optional<JsonValue> json;  // replaces the field's bytes
    std::variant<ImageOutput, IntegerOutput, FloatOutput, BytesOutput> kind;
  };

  Output compile(const config::OutputSpec& spec, const source::Listing& listing);
  size_t fetch_index(source::FieldId field);
  size_t json_index(size_t fetched);
  size_t add_tensor(const std::string& name, config::DType dtype, std::vector<int64_t> shape);

  Status run_output(const ImageOutput& output, const Output& of, const Sample& sample, const Draws& draws,
                    DecodeContext& context, const Target& target) const;
  Status run_output(const IntegerOutput& output, const Output& of, const Sample& sample, const Draws& draws,
                    DecodeContext& context, const Target& target) const;
  Status run_output(const FloatOutput& output, const Output& of, const Sample& sample, const Draws& draws,
                    DecodeContext& context, const Target& target) const;
  Status run_output(const BytesOutput& output, const Output& of, const Sample& sample, const Draws& draws,
                    DecodeContext& context, const Target& target) const;
  Status read_json(const Sample& sample, DecodeContext& context) const;
  static Result<std::string_view> text_of(const Output& output, const Sample& sample, DecodeContext& context);
  void note_pictures();

  std::vector<FieldUse> fetched_;
  std::vector<batch::TensorPlace> tensors_;
  std::vector<Output> outputs_;
  std::vector<size_t> json_;  // fetched fields that hold JSON; each is read once a sample
  size_t sample_id_ = 0;
  std::optional<size_t> mask_;
};

}  // namespace spdld::pipeline
