#include "client/cli/show/show_plan.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "client/sheet/layout.h"
#include "config/checks/load.h"
#include "config/operation.h"
#include "config/operations/image/in_square.h"
#include "config/picture_pixels.h"
#include "config/views.h"

namespace spdld::cli {
namespace {

using config::OperationSpec;
using config::OutputSpec;
using config::PipelineSpec;
using config::SignatureKind;
using config::ViewPart;

constexpr size_t kBeforeMax = 4;  // pictures of a sample that are shown before they are changed
constexpr double kWhite8Bit = 255, kWhite16Bit = 65'535;
constexpr double kShareOfCpu = 0.1;  // beside pipelines of a training run, which have 1 each
constexpr char kAddedName[] = "spdlctl-show-";

// Whether another executor than the daemon's decode threads has an operation of the output.
bool is_handed_on(const OutputSpec& output) {
  return std::any_of(output.ops.begin(), output.ops.end(),
                     [](const OperationSpec& op) { return !config::find_operation(op.op)->executor.empty(); });
}

bool begins_with_picture(const OutputSpec& output) {
  return !output.ops.empty() && config::find_operation(output.ops.front().op)->gives == SignatureKind::kImage;
}

// The operation that writes a picture as the output's tensor; nullptr: the output holds no picture, or its picture goes
// on to another executor.
const OperationSpec* writing_of(const OutputSpec& output) {
  if (is_handed_on(output)) return nullptr;
  for (const OperationSpec& op : output.ops) {
    const config::OperationType& type = *config::find_operation(op.op);
    if (type.takes == SignatureKind::kImage && type.gives == SignatureKind::kTensor) return &op;
  }
  return nullptr;
}

config::Followed followed(const PipelineSpec& spec, const OutputSpec& output) {
  config::Signature start = config::start_of(output.ops);
  config::set_frame(start, config::frame_of(spec.outputs, output));
  return config::follow(output.ops, start, output.varying.form);
}

// Whether white is not known, so that the values are stretched.
bool is_stretched(const OperationSpec& decoding) {
  const config::PicturePixels pixels = config::picture_pixels(decoding);
  return pixels.bits == 32 || (pixels.bits == 16 && pixels.channels() == 1);
}

void describe_picture(const OutputSpec& output, const OperationSpec& writing, ShownOutput& shown) {
  const config::PicturePixels pixels = config::picture_pixels(output.ops.front());
  shown.as = ShownAs::kPicture;
  shown.layout = config::layout_named(writing.text("layout"));
  shown.is_stretched = is_stretched(output.ops.front());
  const config::Normalizing& normalizes = config::find_operation(writing.op)->picture().normalizes;
  if (!normalizes.mean.empty()) {
    shown.factors = writing.numbers(normalizes.std);
    shown.offsets = writing.numbers(normalizes.mean);
    return;
  }
  const double white = pixels.bits == 16 ? kWhite16Bit : pixels.bits == 32 ? 1 : kWhite8Bit;
  shown.factors = {1 / (white * writing.number("scale"))};
  shown.offsets = {0};
}

// A tensor that another executor has made, or what it was made of. White is known of whole numbers alone.
void describe_handed_on(const config::Signature& end, ShownOutput& shown) {
  const std::optional<config::Layout> layout = config::layout_of(end);
  if (!layout) return;
  shown.as = ShownAs::kPicture;
  shown.layout = *layout;
  const config::DType dtype = end.dtype();
  shown.is_stretched = dtype != config::DType::kUint8 && dtype != config::DType::kUint16;
  shown.factors = {1 / (shown.is_stretched ? 1 : dtype == config::DType::kUint16 ? kWhite16Bit : kWhite8Bit)};
  shown.offsets = {0};
}

// Boxes, masks, points and lists of a view.
void describe_follower(const PipelineSpec& spec, const OutputSpec& output, ShownOutput& shown) {
  for (const OperationSpec& op : output.ops) {
    const config::PictureTraits& traits = config::find_operation(op.op)->picture();
    if (traits.view_part != ViewPart::kFollows) continue;
    const size_t dimensions = followed(spec, output).end().dimensions.size();
    if (traits.lists_boxes) {
      shown.as = ShownAs::kBoxes;
      shown.format = op.text("gives").empty() ? op.text("format") : op.text("gives");
    } else if (traits.lists_masks) {
      shown.as = ShownAs::kObjectMasks;
      shown.of = config::kept_from(output);
    } else if (traits.drops_rows) {
      shown.as = ShownAs::kPoints;
    } else if (!traits.keeps_rows_of.empty()) {
      shown.as = ShownAs::kRowsOf;
      shown.of = config::kept_from(output);
    } else if (dimensions == 2) {
      shown.as = ShownAs::kMask;
    }
    return;
  }
}

ShownOutput shown_of(const PipelineSpec& spec, const OutputSpec& output) {
  ShownOutput shown{.name = output.name, .view = output.view, .title = output.name, .from = output.from};
  shown.is_class = output.from == "class" || output.from == "labels";
  if (const OperationSpec* const writing = writing_of(output))
    describe_picture(output, *writing, shown);
  else if (is_handed_on(output))
    describe_handed_on(followed(spec, output).end(), shown);
  else
    describe_follower(spec, output, shown);
  return shown;
}

// Gives a parameter its default, where it has one. False: it must be given.
bool reset(OperationSpec& operation, std::string_view name) {
  for (const config::Parameter& parameter : config::find_operation(operation.op)->parameters) {
    if (parameter.name != name) continue;
    if (!parameter.fallback) return false;
    operation.parameters.insert_or_assign(std::string(name), *parameter.fallback);
  }
  return true;
}

// The operation that decodes, for one picture alone: a single frame where it takes several ones, and no tensors beside
// it.
OperationSpec one_picture_of(OperationSpec decoding) {
  for (const config::ExtraTensor& extra : config::extras_of({&decoding, 1}))
    decoding.parameters.insert_or_assign(std::string(extra.parameter), std::string());
  if (!reset(decoding, "frames")) decoding.parameters.insert_or_assign("frames", int64_t{1});
  reset(decoding, "clips");
  return decoding;
}

// The picture as its file has it, in a square of this side. Around it is the sheet's own colour, or black in a picture
// whose values are stretched.
std::vector<OperationSpec> before_operations(const OutputSpec& output, int side) {
  std::vector<OperationSpec> ops = {one_picture_of(output.ops.front())};
  const bool stretches = is_stretched(ops.front());
  if (!stretches)
    for (const char* name : {"colours", "bits"}) reset(ops.front(), name);
  if (output.ops.size() > 1 && config::row_piece_of(output.ops[1]) != config::RowKind::kRecords)
    ops.push_back(output.ops[1]);
  std::optional<std::vector<double>> paper;
  if (!stretches) paper = {double{sheet::kPaper.red}, double{sheet::kPaper.green}, double{sheet::kPaper.blue}};
  for (OperationSpec& operation :
       config::in_square(side, paper, stretches ? config::DType::kFloat32 : config::DType::kUint8))
    ops.push_back(std::move(operation));
  return ops;
}

// Adds outputs that show pictures before they are changed, and what belongs to them.
class Adding {
 public:
  Adding(const PipelineSpec& spec, int side, bool has_followers)
      : spec_(spec), side_(side), has_followers_(has_followers) {}

  ShowPlan plan() {
    plan_.spec = spec_;
    for (const OutputSpec& output : spec_.outputs)
      if ((writing_of(output) != nullptr || is_handed_on(output)) && begins_with_picture(output)) add_before(output);
    for (const OutputSpec& output : spec_.outputs) plan_.outputs.push_back(shown_of(spec_, output));
    return std::move(plan_);
  }

 private:
  std::string fresh_name() { return kAddedName + std::to_string(++count_); }

  void add(OutputSpec output, const OutputSpec& original, const std::string& title) {
    plan_.spec.outputs.push_back(std::move(output));
    ShownOutput shown = shown_of(plan_.spec, plan_.spec.outputs.back());
    shown.is_before = true;
    shown.title = title;
    shown.from = original.from;
    plan_.outputs.push_back(std::move(shown));
  }

  void add_before(const OutputSpec& leader) {
    const int frame = config::picture_pixels(leader.ops.front()).frame;
    const auto same = [&](const auto& shown) { return shown.first == leader.from && shown.second == frame; };
    if (leader.view.empty() && std::any_of(shown_.begin(), shown_.end(), same)) return;
    if (shown_.size() == kBeforeMax) return;
    shown_.emplace_back(leader.from, frame);
    OutputSpec before = leader;
    before.name = fresh_name();
    before.ops = before_operations(leader, side_);
    before.varying = {};
    before.view = leader.view.empty() || !has_followers_ ? "" : before.name;
    const std::string view = before.view;
    add(std::move(before), leader, "before");
    if (!view.empty()) add_followers(leader, view);
  }

  void add_followers(const OutputSpec& leader, const std::string& view) {
    std::map<std::string, std::string> names;
    for (const OutputSpec& output : spec_.outputs)
      if (output.view == leader.view && &output != &leader) names[output.name] = fresh_name();
    for (const OutputSpec& output : spec_.outputs) {
      const auto name = names.find(output.name);
      if (name == names.end()) continue;
      OutputSpec follower = output;
      follower.name = name->second;
      follower.view = view;
      if (follower.varying.form == config::Form::kPadded) {
        const uint64_t length_max = follower.varying.length_max;
        follower.varying = {
            .form = config::Form::kRagged, .length_max = length_max, .too_long = output.varying.too_long};
      }
      for (OperationSpec& op : follower.ops) adapt(op, names);
      add(std::move(follower), output, "");
    }
  }

  // Refers to outputs by their new names, and leaves no small box out, since the picture is small.
  static void adapt(OperationSpec& op, const std::map<std::string, std::string>& names) {
    const config::PictureTraits& traits = config::find_operation(op.op)->picture();
    if (!traits.keeps_rows_of.empty() && !op.text(traits.keeps_rows_of).empty())
      op.parameters.insert_or_assign(std::string(traits.keeps_rows_of), names.at(op.text(traits.keeps_rows_of)));
    if (traits.lists_boxes)
      for (const char* least : {"min_size", "min_area"}) op.parameters.insert_or_assign(least, 0.0);
    // A mask is empty outside of the picture.
    if (traits.view_part == ViewPart::kFollows && op.parameters.contains("fill"))
      op.parameters.insert_or_assign("fill", int64_t{0});
  }

  const PipelineSpec& spec_;
  const int side_;
  const bool has_followers_;
  ShowPlan plan_;
  std::vector<std::pair<std::string, int>> shown_;  // field and frame
  int count_ = 0;
};

// A pipeline that takes little of a busy daemon: nothing is kept for it, and few batches are made ahead.
void set_apart(PipelineSpec& spec) {
  spec.name = "spdlctl-show-" + std::to_string(getpid());  // several may run at once
  spec.cache = config::CacheForm::kOff;
  spec.share = config::Share::kCache;
  spec.cpu_weight = std::min(spec.cpu_weight, kShareOfCpu);
  spec.batch.prefetch_depth = 1;
  spec.batch.held_max = 1;
  spec.batch.device = "cpu";
  // A small data set has samples to show as well. The buckets of batches by cost or shape would come in another order.
  const auto has_sizes = [](const OutputSpec& output) {
    const auto chain = config::follow(output.ops, config::start_of(output.ops), output.varying.form);
    return !shapes_of(chain.end()).empty();
  };
  if (spec.batch.last == config::LastBatch::kDrop && !spec.batch.cost &&
      std::none_of(spec.outputs.begin(), spec.outputs.end(), has_sizes))
    spec.batch.last = config::LastBatch::kShort;
  int count = 0;
  for (OutputSpec& output : spec.outputs)
    if (output.varying.form == config::Form::kPadded && output.varying.lengths.empty())
      output.varying.lengths = std::string(kAddedName) + "lengths-" + std::to_string(++count);
}

bool is_right(const PipelineSpec& spec) {
  return static_cast<bool>(config::load_pipeline_json(config::full_json(spec), "the sheet's pipeline"));
}

int pieces_of(const PipelineSpec& spec, const OutputSpec& output) {
  const config::Followed chain = followed(spec, output);
  if (is_handed_on(output)) return config::layout_of(chain.end()) ? 1 : 0;
  if (writing_of(output) == nullptr) return 0;
  for (const config::Signature& signature : chain.along) {
    const config::PictureFacts* const picture = signature.find_picture();
    if (picture == nullptr) continue;
    if (picture->frames) return static_cast<int>(*picture->frames * picture->clips.value_or(1));
    if (picture->pieces) return static_cast<int>(picture->pieces->most().value_or(1));
  }
  return 1;
}

}  // namespace

int tiles_of(const PipelineSpec& spec) { return plan_of(spec, 64).tiles; }

ShowPlan plan_of(const PipelineSpec& spec, int side) {
  ShowPlan plan;
  for (const bool has_followers : {true, false}) {
    plan = Adding(spec, side, has_followers).plan();
    set_apart(plan.spec);
    if (is_right(plan.spec)) break;
  }
  if (!is_right(plan.spec)) {  // some pipelines take no further output, such as one with as many as there may be
    std::erase_if(plan.outputs, [](const ShownOutput& shown) { return shown.is_before; });
    plan.spec.outputs = spec.outputs;
    set_apart(plan.spec);
  }
  for (const OutputSpec& output : plan.spec.outputs) plan.tiles += pieces_of(plan.spec, output);
  return plan;
}

}  // namespace spdld::cli
