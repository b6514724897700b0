// The checks of batches whose pictures have one size out of several: the outputs must agree about them, and the order
// must be able to sort samples by them.
#include "config/batch_shapes.h"
#include "config/checks/check.h"
#include "config/size_schedule.h"

namespace spdld::config {
namespace {

struct Bucketed {
  size_t output, op;  // their numbers
};

std::vector<Bucketed> bucketed_of(const std::vector<OutputSpec>& outputs) {
  std::vector<Bucketed> found;
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < outputs[i].ops.size(); ++j)
      if (find_operation(outputs[i].ops[j].op)->picture().view_part == ViewPart::kBuckets) found.push_back({i, j});
  return found;
}

// Outputs whose sizes change by epoch change at the same ones, so that an epoch's number says the shapes of all.
void check_schedules(const PipelineSpec& spec, const Node& root, bool is_bucketed, Complaints& complaints) {
  std::vector<uint64_t> epochs;  // of the first
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OutputSpec& output = spec.outputs[i];
    for (const OperationSpec& op : output.ops) {
      std::vector<uint64_t> own;
      for (const ScheduledSize& one : schedule_of(std::span(&op, 1))) own.push_back(one.epoch);
      if (own.empty()) continue;
      const auto complain = [&](std::string text) {
        complaints.add(op.where.line, "output[" + std::to_string(i) + "].ops", std::move(text));
      };
      if (is_bucketed)
        complain("must not have by_epoch beside " + std::string(bucketing_operation()) +
                 ": both say the size of a batch's pictures");
      if (!epochs.empty() && own != epochs)
        complain("must have the same epochs in each by_epoch: a batch has one shape of each output");
      epochs = own;
    }
  }
  if (epochs.empty()) return;
  const Node* const batch = root.find("batch");
  for (const char* key : {"cost_max", "ops"})
    if (const Node* const found = batch == nullptr ? nullptr : batch->find(key))
      complaints.add(found->line, "batch." + std::string(key),
                     "may not stand beside by_epoch, which gives the pictures of an epoch a size of their own");
}

}  // namespace

void check_batch_shapes(const PipelineSpec& spec, const Node& root, Complaints& complaints) {
  const std::vector<Bucketed> bucketed = bucketed_of(spec.outputs);
  check_schedules(spec, root, !bucketed.empty(), complaints);
  if (bucketed.empty()) return;
  const auto complain = [&](const Bucketed& at, std::string_view key, std::string text) {
    const OperationSpec& op = spec.outputs[at.output].ops[at.op];
    complaints.add(op.where.line,
                   "output[" + std::to_string(at.output) + "].ops[" + std::to_string(at.op) + "]" + std::string(key),
                   std::move(text));
  };
  const OutputSpec& first = spec.outputs[bucketed.front().output];
  for (const Bucketed& at : bucketed) {
    const OutputSpec& output = spec.outputs[at.output];
    if (output.ops[at.op].text("sizes") != first.ops[bucketed.front().op].text("sizes"))
      complain(at, ".sizes",
               "must be the sizes that output " + in_quotes(first.name) + " has: a batch has pictures of one size");
    if (output.from != first.from || output.ops.front().flag("exif") != first.ops.front().flag("exif"))
      complain(at, "",
               "must stand in an output from " + in_quotes(first.from) + " that decodes it as output " +
                   in_quotes(first.name) + " does: one picture of a sample decides its bucket");
  }
  const auto refuse = [&](std::string_view table, std::string_view key, const std::string& why) {
    const Node* const in = root.find(table);
    const Node* const found = in == nullptr || key.empty() ? in : in->find(key);
    if (found != nullptr)
      complaints.add(found->line, std::string(table) + (key.empty() ? "" : ".") + std::string(key),
                     why + " beside " + std::string(bucketing_operation()) +
                         ", which sorts the samples of one [source] into buckets");
  };
  for (const char* key : {"cost_max", "ops"}) refuse("batch", key, "may not stand");
  if (spec.order.shuffle == Shuffle::kWindow || spec.order.shuffle == Shuffle::kClient)
    refuse("order", "shuffle", "must be true or false");
  for (const char* key : {"weights", "repeats", "epoch_samples"}) refuse("order", key, "may not stand");
  refuse("rows", "", "may not stand");
  if (spec.is_mix()) refuse("sources", "", "may not be several");
}

}  // namespace spdld::config
