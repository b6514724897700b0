#include "daemon/pipeline/decode_stage.h"

#include <algorithm>

namespace spdld::pipeline {
namespace {

bool is_upgraded(const Passage& passage) {
  return std::any_of(passage.held.begin(), passage.held.end(),
                     [](const FieldBytes& field) { return field.is_upgrade; });
}

}  // namespace

StageAccount account_of_decode() {
  return {.is_on_pool = true,
          .tuned_as = "decode",
          .role = "decode",
          .runs_operations = true,
          .name = "decode",
          .work = "Decoding",
          .lane = "decode thread",
          .more = "With # cores for decoding in place of @"};
}

StageAccount account_of_transform(size_t turn) {
  StageAccount account = account_of_decode();
  account.name = turn == 1 ? "transform" : "transform-" + std::to_string(turn);
  account.work = "Transforming";
  account.more.clear();  // what decoding says of the threads holds for both
  return account;
}

Status DecodeStage::run(Passage& passage, const Draws& draws, DecodeContext& context,
                        const Plan::Target& target) const {
  return plan().run({*passage.listing, passage.sample, passage.held}, draws, context, target);
}

bool DecodeStage::end(Passage& passage, uint64_t took_ns, Status& status) const {
  if (passage.spare && is_upgraded(passage)) passage.spare->spend(took_ns);
  caching_.keep_indexes(passage, passage.held);
  if (status || status.error().trouble != Trouble::kUnread) return false;
  status = IndexShelves::ask_further(passage, passage.held);
  return bool(status);
}

Status TransformStage::run(Passage& passage, const Draws& draws, DecodeContext& context,
                           const Plan::Target& target) const {
  return plan().run_turn(turn_, {*passage.listing, passage.sample, passage.held}, draws, context, target);
}

}  // namespace spdld::pipeline
