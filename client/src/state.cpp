#include "client/src/state.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "client/src/flat_json.h"
#include "proto/fingerprint.h"
#include "proto/key_digests.h"

namespace spdld::client {

namespace {

constexpr uint64_t kFormat = 1;
constexpr const char* kKeys = "keys";              // a text; it may be missing
constexpr const char* kReplay = "replay";          // a number, 1; no state of a run has it
constexpr const char* kSkipSteps = "skip_steps";   // a number; it may be missing
constexpr uint64_t kEpochEnd = uint64_t{1} << 63;  // an epoch after it can still be counted

struct TextField {
  const char* name;
  std::string State::*text;
};
constexpr std::array<TextField, 2> kTexts = {{{"pipeline", &State::pipeline}, {"fingerprint", &State::fingerprint}}};

// In the order in which they are written.
enum Number { kSeed, kEpoch, kStep, kSamples, kGlobalSize, kWorldSize, kNumbers };
constexpr std::array<const char*, kNumbers> kNumberNames = {"seed",    "epoch",       "step",
                                                            "samples", "global_size", "world_size"};

std::array<uint64_t, kNumbers> numbers_of(const State& state) {
  return {state.seed, state.position.epoch, state.position.step, state.samples, state.global_size, state.world_size};
}

std::string in_quotes(std::string_view name) { return "\"" + std::string(name) + "\""; }

CallOutcome damaged(const std::string& how) {
  return failure(SPDLD_INVALID, "the state is not one that a loader gave: " + how);
}

const FlatMember* find(const std::vector<FlatMember>& members, std::string_view name) {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const FlatMember& member) { return member.name == name; });
  return found == members.end() ? nullptr : &*found;
}

// The members are exactly the names of the format, each once.
CallOutcome check_names(const std::vector<FlatMember>& members) {
  for (const FlatMember& member : members) {
    const auto is_named = [&member](const auto& name) { return member.name == name; };
    const bool is_text = member.name == kKeys || std::any_of(kTexts.begin(), kTexts.end(), [&](const TextField& field) {
                           return is_named(field.name);
                         });
    const bool is_number = member.name == "format" || member.name == kSkipSteps ||
                           std::any_of(kNumberNames.begin(), kNumberNames.end(), is_named);
    if (!is_text && !is_number) return damaged("it holds " + in_quotes(member.name.substr(0, 64)));
    if (is_text != member.is_text) return damaged(in_quotes(member.name) + (is_text ? " is no text" : " is no number"));
    if (find(members, member.name) != &member) return damaged(in_quotes(member.name) + " comes twice");
  }
  return {};
}

CallOutcome check_numbers(const State& state) {
  const Position& position = state.position;
  if (state.global_size == 0 || state.world_size == 0) return damaged("a size is 0");
  if (position.epoch >= kEpochEnd) return damaged("its epoch is " + std::to_string(position.epoch));
  uint64_t most = 0;
  const bool is_large = __builtin_mul_overflow(position.step, state.global_size, &most);
  // All steps before the last are full, and after the last comes another epoch.
  if (is_large || state.samples > most || (position.step > 0 && state.samples <= most - state.global_size)) {
    return damaged(std::to_string(state.samples) + " samples are not what " + std::to_string(position.step) +
                   " steps of " + std::to_string(state.global_size) + " take");
  }
  return {};
}

std::string difference(const State& state, const Terms& terms) {
  const auto found = proto::fingerprint_difference(terms.fingerprint, state.fingerprint);
  if (!found) {
    return "the fingerprints differ (" + state.fingerprint.substr(0, 128) + ", and " +
           terms.fingerprint.substr(0, 128) + " here)";
  }
  std::string named = found->parts;
  if (state.global_size != terms.global_size) {
    named += " (" + std::to_string(state.global_size) + ", and " + std::to_string(terms.global_size) + " here)";
  }
  return named + " " + found->verb() + proto::key_note(*found, terms.key_digests, state.key_digests);
}

}  // namespace

State state_of(const Terms& terms, Position position, uint32_t world_size, bool replay) {
  State state{terms.pipeline,    terms.fingerprint, terms.key_digests,
              terms.seed,        position,          0,
              terms.global_size, world_size,        replay};
  if (__builtin_mul_overflow(position.step, terms.global_size, &state.samples)) {
    state.samples = std::numeric_limits<uint64_t>::max();
  }
  // The last two steps may be divided evenly: then the last one begins earlier.
  if (terms.last_samples != 0 && position.step + 1 == terms.steps_per_epoch)
    state.samples = std::min(state.samples, terms.samples - terms.last_samples);
  return state;
}

std::string to_json(const State& state) {
  std::string json = "{\"format\":" + std::to_string(kFormat);
  for (const TextField& field : kTexts) {
    json += ",\"" + std::string(field.name) + "\":";
    append_json_text(json, state.*field.text);
  }
  const auto numbers = numbers_of(state);
  for (size_t i = 0; i < numbers.size(); ++i) {
    json += ",\"" + std::string(kNumberNames[i]) + "\":" + std::to_string(numbers[i]);
  }
  if (!state.key_digests.empty()) json.append(",\"").append(kKeys).append("\":\"").append(state.key_digests) += '"';
  if (state.replay) json += ",\"" + std::string(kReplay) + "\":1";
  return json + "}";
}

CallOutcome read_state(std::string_view json, State& state) {
  std::vector<FlatMember> members;
  const std::string fault = read_flat_object(json, members);
  const FlatMember* const format = find(members, "format");
  // Asked first: the rest of a newer one may well be no flat object.
  if (format && !format->is_text && format->number > kFormat) {
    return failure(SPDLD_INVALID, "the state has format " + std::to_string(format->number) + ", and libspdld " +
                                      SPDLD_VERSION_TEXT + " reads formats up to " + std::to_string(kFormat) +
                                      ": update it");
  }
  if (!fault.empty()) return damaged(fault);
  if (find(members, kReplay)) {
    return failure(SPDLD_INVALID,
                   "the state is of a replay (SPDLD_REPLAY), which saw the same few batches again and again: load a "
                   "state of a run without it");
  }
  const CallOutcome outcome = check_names(members);
  if (!outcome.ok()) return outcome;
  if (!format || format->number != kFormat) return damaged("its \"format\" is not " + std::to_string(kFormat));
  State read;
  const FlatMember* const keys = find(members, kKeys);
  if (keys != nullptr && (keys->text.empty() || !proto::read_key_digests(keys->text)))
    return damaged("its \"keys\" are no digests of keys");
  if (keys != nullptr) read.key_digests = keys->text;
  for (const TextField& field : kTexts) {
    const FlatMember* const member = find(members, field.name);
    if (!member) return damaged(in_quotes(field.name) + " is missing");
    read.*field.text = member->text;
  }
  std::array<uint64_t, kNumbers> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const FlatMember* const member = find(members, kNumberNames[i]);
    if (!member) return damaged(in_quotes(kNumberNames[i]) + " is missing");
    numbers[i] = member->number;
  }
  if (read.fingerprint.empty()) return damaged("its fingerprint is empty");
  read.seed = numbers[kSeed];
  read.position = {numbers[kEpoch], numbers[kStep]};
  read.samples = numbers[kSamples];
  read.global_size = numbers[kGlobalSize];
  read.world_size = numbers[kWorldSize];
  if (const FlatMember* const skip = find(members, kSkipSteps)) read.skip_steps = skip->number;
  const CallOutcome sound = check_numbers(read);
  if (sound.ok()) state = std::move(read);
  return sound;
}

CallOutcome check_state(const State& state, const Terms& terms) {
  // Another number of ranks may divide the last two steps otherwise. All steps but the last begin at the same sample.
  const bool is_before_division = state.position.step + 1 < terms.steps_per_epoch &&
                                  proto::differ_in_last_step_alone(state.fingerprint, terms.fingerprint);
  if (state.fingerprint != terms.fingerprint && !is_before_division) {
    return failure(SPDLD_CHANGED, "the state belongs to another run: " + difference(state, terms));
  }
  if (state.seed != terms.seed || state.global_size != terms.global_size) {
    return damaged("its seed or its global batch does not fit its fingerprint");
  }
  if (!terms.is_pushed() && state.position.step >= terms.steps_per_epoch) {
    return damaged("its step is " + std::to_string(state.position.step) + ", and an epoch has " +
                   std::to_string(terms.steps_per_epoch));
  }
  return {};
}

std::string key_note(const Terms& before, const Terms& now) {
  const auto difference = proto::fingerprint_difference(now.fingerprint, before.fingerprint);
  return difference ? proto::key_note(*difference, now.key_digests, before.key_digests) : std::string();
}

std::string way_around(bool attached) {
  return std::string("; to begin at its position nevertheless, ") + (attached ? "" : "attach without it, and ") +
         "load it with anyway = 1 (in Python: load_state_dict(state, strict=False))";
}

Position position_in(const State& state, const Terms& terms) {
  const uint64_t global_size = std::max<uint64_t>(1, terms.global_size);
  const uint64_t step = state.global_size == global_size ? state.position.step : state.samples / global_size;
  if (!terms.is_pushed() && step >= terms.steps_per_epoch) return {state.position.epoch + 1, 0};
  return {state.position.epoch, step};
}

CallOutcome find_position(const State& state, const Terms& terms, Position& position) {
  position = position_in(state, terms);
  if (state.skip_steps == 0) return {};
  const auto too_many = [&](const std::string& why) {
    return failure(SPDLD_INVALID,
                   "the state leaves out " + std::to_string(state.skip_steps) + " steps (\"skip_steps\"), " + why);
  };
  uint64_t step = 0;
  if (__builtin_add_overflow(position.step, state.skip_steps, &step)) return too_many("more than can be counted");
  const uint64_t steps = terms.is_pushed() ? 0 : terms.steps_per_epoch;
  if (steps == 0) {
    position.step = step;
    return {};
  }
  if (__builtin_add_overflow(position.epoch, step / steps, &position.epoch))
    return too_many("more than can be counted");
  position.step = step % steps;
  const Position end{terms.epochs, 0};
  if (terms.epochs == 0 || position < end || position == end) return {};
  return too_many("and the run ends before: it has " + std::to_string(terms.epochs) + " epochs of " +
                  std::to_string(steps) + " steps");
}

}  // namespace spdld::client
