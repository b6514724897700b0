#include "client/src/crew/plugin_work.h"

#include <spdld.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

namespace spdld::client {
namespace {

constexpr size_t kSentenceSize = 1024;
constexpr uint64_t kResultBytesMax = uint64_t{1} << 32;
constexpr int kAttempts = 2;  // of a sample, where the first one ends with a fault
static_assert(SPDLD_PLUGIN_UINT8 == int{SPDLD_UINT8} && SPDLD_PLUGIN_BFLOAT16 == int{SPDLD_BFLOAT16} &&
              SPDLD_PLUGIN_BOOL == int{SPDLD_BOOL} && SPDLD_PLUGIN_UINT64 == int{SPDLD_UINT64} &&
              SPDLD_PLUGIN_COMPLEX128 == int{SPDLD_COMPLEX128});

uint64_t item_bytes(uint32_t dtype) { return proto::bytes_of(static_cast<proto::DType>(dtype)); }

spdld_plugin_signature signature_of(const PluginValue& value) {
  spdld_plugin_signature signature = {};
  signature.struct_size = sizeof signature;
  if (!value.is_tensor) return signature;
  signature.kind = SPDLD_PLUGIN_TENSOR;
  signature.dtype = value.dtype;
  signature.dimensions = static_cast<uint32_t>(value.sizes.size());
  std::ranges::copy(value.sizes, signature.sizes);
  return signature;
}

// None: no value has such a signature.
std::optional<PluginValue> value_of(const spdld_plugin_signature& signature) {
  if (signature.kind == SPDLD_PLUGIN_BYTES) return PluginValue{};
  const bool is_sound = signature.kind == SPDLD_PLUGIN_TENSOR && signature.dtype <= SPDLD_PLUGIN_COMPLEX128 &&
                        signature.dimensions <= SPDLD_PLUGIN_DIMENSIONS_MAX;
  if (!is_sound) return std::nullopt;
  PluginValue value{true, signature.dtype, {signature.sizes, signature.sizes + signature.dimensions}};
  if (std::ranges::any_of(value.sizes, [](int64_t size) { return size < -1; })) return std::nullopt;
  return value;
}

bool fits(std::span<const int64_t> sizes, const std::vector<int64_t>& wanted) {
  return std::ranges::equal(sizes, wanted, [](int64_t size, int64_t want) { return want < 0 || size == want; });
}

// Whether values of both kinds may be one.
bool may_be_alike(const PluginValue& one, const PluginValue& other) {
  return one.is_tensor == other.is_tensor && one.dtype == other.dtype &&
         std::ranges::equal(one.sizes, other.sizes, [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
}

// None: there is no such size, or it is more than a result may have.
std::optional<uint64_t> bytes_of(std::span<const int64_t> sizes, uint64_t item) {
  uint64_t bytes = item;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty = is_empty || size == 0;
    const uint64_t times = std::max<uint64_t>(static_cast<uint64_t>(size), 1);
    if (times > kResultBytesMax / bytes) return std::nullopt;
    bytes *= times;
  }
  return is_empty ? 0 : bytes;
}

}  // namespace

std::string plugin_value_text(const PluginValue& value) {
  if (!value.is_tensor) return "bytes";
  std::string text = std::string(proto::name_of(static_cast<proto::DType>(value.dtype))) + " [";
  for (const int64_t size : value.sizes)
    text += (text.ends_with('[') ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
  return text + "]";
}

// One run of the operation on a sample; run() and reserve() of the plug-in write into it.
struct PluginWork::Attempt {
  enum class End : uint8_t { kDone, kBad, kDropped, kFault };

  const PluginValue& bound;
  const PluginValue& wanted;
  PluginRooms& rooms;
  End end = End::kDone;
  std::string text = {};
  bool has_room = false;
  uint64_t room_bytes = 0;
  char error[kSentenceSize] = {};

  void finish(End how, std::string why) {
    end = how;
    text = std::move(why);
  }
  // Called by the plug-in, through which no exception may go.
  void* reserve_in(spdld_plugin_call& call, const int64_t* asked, uint32_t dimensions) noexcept {
    call.result = nullptr;
    try {
      if (dimensions > SPDLD_PLUGIN_DIMENSIONS_MAX || (!asked && dimensions > 0)) {
        finish(End::kFault, "it reserved room with " + std::to_string(dimensions) + " sizes that are not there");
      } else {
        call.result = reserve({asked, dimensions});
      }
    } catch (const std::exception&) {
      end = End::kFault;  // there is no memory for a sentence either
    }
    call.result_bytes = call.result ? room_bytes : 0;
    return call.result;
  }
  // Of what the plug-in returned. A sentence of our own, of a room that it did not get, stays.
  void take(int code, const char* function, bool may_drop) {
    if (end != End::kDone || code == SPDLD_PLUGIN_OK) return;
    const std::string words = plugin_sentence(error, sizeof error);
    if (code == SPDLD_PLUGIN_BAD) return finish(End::kBad, words);
    if (code == SPDLD_PLUGIN_DROP && may_drop) return finish(End::kDropped, "");
    const bool is_known = code == SPDLD_PLUGIN_FAULT;
    finish(End::kFault, std::string(function) +
                            (is_known ? " failed: " : " failed, and returned " + std::to_string(code) + ": ") + words);
  }
  void* reserve(std::span<const int64_t> sizes) {
    const auto bytes = bytes_of(sizes, bound.is_tensor ? item_bytes(bound.dtype) : 1);
    const PluginValue asked{bound.is_tensor, bound.dtype, {sizes.begin(), sizes.end()}};
    has_room = false;
    if (!bound.is_tensor && sizes.size() != 1) {
      finish(End::kFault, "it reserved room for bytes with " + std::to_string(sizes.size()) + " sizes in place of one");
    } else if (bound.is_tensor && (!bytes || !fits(sizes, bound.sizes))) {
      finish(End::kFault, "it reserved room for " + plugin_value_text(asked) + ", and had said that it gives " +
                              plugin_value_text(bound));
    } else if (bound.is_tensor && !fits(sizes, wanted.sizes)) {
      finish(End::kBad, "it gave " + plugin_value_text(asked) + ", and `gives` says " + plugin_value_text(wanted));
    } else if (void* const room = bytes ? rooms.make(sizes, *bytes) : nullptr) {
      finish(End::kDone, "");
      has_room = true;
      room_bytes = *bytes;
      return room;
    } else {
      finish(End::kFault,
             "there is no memory for a result of " + (bytes ? std::to_string(*bytes) : "so many") + " bytes");
    }
    return nullptr;
  }
};

PluginWork::~PluginWork() { free_state(); }

CallOutcome PluginWork::bind(const spdld_plugin_operation& operation, std::string settings, const PluginValue& takes,
                             const PluginValue& wanted) {
  operation_ = &operation;
  settings_ = std::move(settings);
  takes_ = signature_of(takes);
  wanted_ = wanted;
  gives_ = signature_of({});
  char error[kSentenceSize] = {};
  if (const int code = operation.bind(&operation, settings_.c_str(), &takes_, &gives_, error, sizeof error);
      code != SPDLD_PLUGIN_OK) {
    const std::string how = settings_.empty() ? "" : " with settings = \"" + settings_ + "\"";
    return failure(SPDLD_INVALID,
                   "can't work on " + plugin_value_text(takes) + how + ": " + plugin_sentence(error, sizeof error));
  }
  const auto bound = value_of(gives_);
  if (!bound) return failure(SPDLD_INVALID, "is faulty: it says that it gives a value of a kind that there is not");
  if (!may_be_alike(*bound, wanted))
    return failure(SPDLD_INVALID, "gives " + plugin_value_text(*bound) + ", and `gives` says " +
                                      plugin_value_text(wanted) + ": correct `gives`");
  bound_ = *bound;
  gives_ = signature_of(bound_);
  return {};
}

PluginResult PluginWork::run(std::span<const uint8_t> input, std::span<const int64_t> sizes, uint64_t key,
                             PluginRooms& rooms) {
  for (int turn = 1;; ++turn) {
    Attempt attempt{bound_, wanted_, rooms};
    if (has_state(attempt)) attempt_run(input, sizes, key, attempt);
    if (attempt.end == Attempt::End::kDone) return {PluginEnd::kDone, attempt.room_bytes, {}};
    if (attempt.end == Attempt::End::kBad) return {PluginEnd::kBad, 0, std::move(attempt.text)};
    if (attempt.end == Attempt::End::kDropped) return {PluginEnd::kDropped, 0, {}};
    free_state();
    if (turn == kAttempts) return {PluginEnd::kBad, 0, std::move(attempt.text)};
  }
}

bool PluginWork::has_state(Attempt& attempt) {
  if (is_made_ || !operation_->make) return true;
  attempt.take(
      operation_->make(operation_, settings_.c_str(), &takes_, &gives_, &state_, attempt.error, sizeof attempt.error),
      "make", false);
  is_made_ = attempt.end == Attempt::End::kDone;
  if (!is_made_) state_ = nullptr;
  return is_made_;
}

void PluginWork::attempt_run(std::span<const uint8_t> input, std::span<const int64_t> sizes, uint64_t key,
                             Attempt& attempt) {
  spdld_plugin_call call = {};
  call.struct_size = sizeof call;
  call.input = input.data();
  call.input_bytes = input.size();
  call.input_sizes = sizes.data();
  call.key = key;
  call.error = attempt.error;
  call.error_size = sizeof attempt.error;
  call.host = &attempt;
  call.reserve = [](spdld_plugin_call* own, const int64_t* asked, uint32_t dimensions) {
    return static_cast<Attempt*>(own->host)->reserve_in(*own, asked, dimensions);
  };
  const bool is_fixed = bound_.is_tensor && std::ranges::all_of(bound_.sizes, [](int64_t size) { return size >= 0; });
  if (is_fixed && !call.reserve(&call, bound_.sizes.data(), static_cast<uint32_t>(bound_.sizes.size()))) return;
  attempt.take(operation_->run(state_, &call), "run", true);
  if (attempt.end != Attempt::End::kDone) return;
  const bool is_right =
      bound_.is_tensor ? call.result_bytes == attempt.room_bytes : call.result_bytes <= attempt.room_bytes;
  if (!attempt.has_room) {
    attempt.finish(Attempt::End::kFault, "run gave no result: it is to call reserve");
  } else if (!is_right) {
    attempt.finish(Attempt::End::kFault, "run says that its result has " + std::to_string(call.result_bytes) +
                                             " bytes, in a room of " + std::to_string(attempt.room_bytes));
  }
  attempt.room_bytes = call.result_bytes;
}

void PluginWork::free_state() {
  if (is_made_) operation_->free(state_);
  is_made_ = false;
  state_ = nullptr;
}

}  // namespace spdld::client
