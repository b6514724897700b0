#include "daemon/control/session_reply.h"

#include <sys/stat.h>

#include <algorithm>

namespace spdld::control {

using flatbuffers::FlatBufferBuilder;
using proto::Body;

proto::ErrorCode code_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kContent:
    case Trouble::kTooLong:
    case Trouble::kDropped:
    case Trouble::kTransient:
      return proto::ErrorCode::failed;
    case Trouble::kUsage:
      return proto::ErrorCode::invalid;
    case Trouble::kNotFound:
      return proto::ErrorCode::not_found;
    case Trouble::kDenied:
      return proto::ErrorCode::denied;
    case Trouble::kLimit:
    case Trouble::kMemory:  // passes like a limit that is reached: a client asks again, within its own time
      return proto::ErrorCode::limit;
    case Trouble::kConflict:
      return proto::ErrorCode::conflict;
    case Trouble::kChanged:
      return proto::ErrorCode::changed;
    case Trouble::kStopping:
      return proto::ErrorCode::stopping;
    case Trouble::kLagged:
      return proto::ErrorCode::lagged;
    case Trouble::kUnsupported:
      return proto::ErrorCode::unsupported;
    case Trouble::kUnread:
    case Trouble::kInternal:
      break;
  }
  return proto::ErrorCode::internal;
}

// The numbers are the same; a test compares the names.
proto::DType dtype_of(config::DType dtype) {
  static_assert(static_cast<size_t>(proto::DType::MAX) + 1 == config::kDTypeCount);
  return static_cast<proto::DType>(dtype);
}

proto::MemoryKind kind_of(memory::MemoryKind kind) {
  switch (kind) {
    case memory::MemoryKind::kHost:
      return proto::MemoryKind::host;
    case memory::MemoryKind::kPinned:
      return proto::MemoryKind::pinned;
    case memory::MemoryKind::kCudaIpc:
      return proto::MemoryKind::cuda_ipc;
    case memory::MemoryKind::kCudaVmm:
      break;
  }
  return proto::MemoryKind::cuda_vmm;
}

namespace {

// Beside them there is room for every other field of ATTACHED.
constexpr size_t kInlineClassBytes = 16 * 1024;
constexpr size_t kBytesPerString = 12;  // of a FlatBuffer: its offset, its length, and what aligns it, about

// The numbers are the same; a test compares the names.
proto::Role role_of(batch::Role role) { return static_cast<proto::Role>(role); }

// For a tensor that describes another one: the name of that one.
flatbuffers::Offset<flatbuffers::String> of_whom(FlatBufferBuilder& builder, const batch::Layout& layout,
                                                 const batch::TensorPlace& tensor) {
  return tensor.of ? builder.CreateString(layout.tensors()[*tensor.of].name) : 0;
}

flatbuffers::Offset<proto::OutputSchema> schema_of(FlatBufferBuilder& builder, const batch::Layout& layout,
                                                   size_t index) {
  const batch::TensorPlace& tensor = layout.tensors()[index];
  const auto name = builder.CreateString(tensor.name), of = of_whom(builder, layout, tensor);
  const auto shape =
      builder.CreateVector(std::vector<uint64_t>(tensor.sample_shape.begin(), tensor.sample_shape.end()));
  const uint64_t rows_max = tensor.role == batch::Role::kValues ? layout.views()[index].shape[0] : 0;
  return proto::CreateOutputSchema(builder, name, dtype_of(tensor.dtype), shape, role_of(tensor.role), of, rows_max);
}

bool is_dense(const batch::TensorView& view) {
  uint64_t stride = 1;
  for (uint32_t i = view.rank; i-- > 0; stride *= view.shape[i])
    if (view.strides[i] != stride && view.shape[i] > 1) return false;
  return true;
}

flatbuffers::Offset<proto::TensorDescriptor> descriptor_of(FlatBufferBuilder& builder, const batch::Layout& layout,
                                                           size_t index, const batch::TensorView& view) {
  const batch::TensorPlace& tensor = layout.tensors()[index];
  const auto name = builder.CreateString(tensor.name), of = of_whom(builder, layout, tensor);
  const auto shape = builder.CreateVector(view.shape.data(), view.rank);
  const auto strides = is_dense(view) ? 0 : builder.CreateVector(view.strides.data(), view.rank);
  return proto::CreateTensorDescriptor(builder, name, dtype_of(tensor.dtype), shape, strides, view.offset,
                                       role_of(tensor.role), of);
}

// Its inode number tells whether another process has the same.
uint64_t namespace_of(const char* file) {
  struct stat status {};
  return stat(file, &status) == 0 ? status.st_ino : 0;
}

using DeviceSlots = flatbuffers::Vector<flatbuffers::Offset<proto::DeviceSlot>>;

flatbuffers::Offset<DeviceSlots> device_slots_of(FlatBufferBuilder& builder, const AttachedInfo& info) {
  if (!memory::on_gpu(info.memory)) return 0;
  std::vector<flatbuffers::Offset<proto::DeviceSlot>> slots;
  for (const memory::Shared& slot : info.slots) {
    const auto handle = builder.CreateVector(slot.handle);
    const auto copied = builder.CreateVector(slot.copied);
    slots.push_back(proto::CreateDeviceSlot(builder, slot.bytes, handle, slot.offset, copied));
  }
  return builder.CreateVector(slots);
}

std::vector<int> fds_of(const AttachedInfo& info) {
  std::vector<int> fds;
  for (const memory::Shared& slot : info.slots)
    if (slot.fd >= 0) fds.push_back(slot.fd);
  return fds;
}

// The names of the classes, as ATTACHED carries them.
struct ClassNames {
  uint64_t count = 0;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> inside = 0;  // small
  UniqueFd memory;                                                                                // large
};

ClassNames class_names(FlatBufferBuilder& builder, std::span<const std::string> classes) {
  ClassNames names{.count = classes.size(), .inside = 0, .memory = {}};
  size_t bytes = 0;
  for (const std::string& name : classes) bytes += name.size() + 1;
  if (bytes > proto::kTextBytesMax || classes.empty()) return names;
  const size_t bytes_in_message = bytes + classes.size() * kBytesPerString;
  if (bytes_in_message <= kInlineClassBytes) {
    names.inside = builder.CreateVectorOfStrings(std::vector<std::string>(classes.begin(), classes.end()));
    return names;
  }
  std::string text;
  text.reserve(bytes);
  for (const std::string& name : classes) text.append(name) += '\0';
  names.memory = proto::text_to_memfd(text, "spdld-classes");
  return names;
}

}  // namespace

namespace {

constexpr size_t kReasonsMax = 16, kTextBytesMax = 512;  // of READY and ATTACHED
constexpr size_t kAttachedTableBytes = 1024;             // of ATTACHED without texts and lists, at most

flatbuffers::Offset<flatbuffers::String> short_text(FlatBufferBuilder& builder, std::string_view text) {
  return builder.CreateString(text.substr(0, kTextBytesMax));
}

using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
flatbuffers::Offset<Texts> missing_of(FlatBufferBuilder& builder, const AttachedInfo& info, const HiddenPaths& hidden) {
  std::vector<flatbuffers::Offset<flatbuffers::String>> texts;
  for (size_t i = 0; i < info.missing.size() && i < kReasonsMax; i++)
    texts.push_back(short_text(builder, hidden.shown(info.missing[i])));
  return texts.empty() ? 0 : builder.CreateVector(texts);
}

// The numbers of kinds are the same.
static_assert(static_cast<int>(proto::BadKind::dropped) == static_cast<int>(batch::FlawKind::kDropped) &&
              static_cast<int>(proto::BadKind::too_long) == static_cast<int>(batch::FlawKind::kTooLong) &&
              static_cast<int>(proto::BadKind::unsupported) == static_cast<int>(batch::FlawKind::kUnsupported));
using BadReasons = flatbuffers::Vector<flatbuffers::Offset<proto::BadReason>>;
// Each reason once, in the order of the batch's samples.
flatbuffers::Offset<BadReasons> bad_of(FlatBufferBuilder& builder, const batch::Batch& batch,
                                       const HiddenPaths& hidden) {
  struct Reason {
    const batch::Flaw* first;
    uint32_t count;
  };
  std::vector<const batch::Flaw*> flaws;
  for (const batch::Flaw& flaw : batch.flaws) flaws.push_back(&flaw);
  std::sort(flaws.begin(), flaws.end(), [](const batch::Flaw* a, const batch::Flaw* b) { return a->index < b->index; });
  std::vector<Reason> reasons;
  for (const batch::Flaw* flaw : flaws) {
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& reason) {
      return reason.first->kind == flaw->kind && reason.first->reason == flaw->reason;
    });
    if (same != reasons.end()) {
      same->count++;
    } else if (reasons.size() < kReasonsMax) {
      reasons.push_back({flaw, 1});
    }
  }
  std::vector<flatbuffers::Offset<proto::BadReason>> told;
  for (const Reason& reason : reasons) {
    const auto text = short_text(builder, hidden.shown(reason.first->reason));
    const auto name = short_text(builder, hidden.shown(reason.first->name));
    const auto kind = static_cast<proto::BadKind>(reason.first->kind);
    told.push_back(proto::CreateBadReason(builder, kind, text, reason.count, reason.first->sample, name));
  }
  return told.empty() ? 0 : builder.CreateVector(told);
}

uint32_t count_of(const batch::Batch& batch, batch::FlawKind kind) {
  const auto& flaws = batch.flaws;
  const auto is_one = [kind](const batch::Flaw& flaw) { return flaw.kind == kind; };
  return static_cast<uint32_t>(std::count_if(flaws.begin(), flaws.end(), is_one));
}

}  // namespace

void SessionReply::preparing(std::string_view what, uint64_t done, uint64_t total) {
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  auto& builder = session->builder_;
  builder.Clear();
  const auto text = builder.CreateString(what);
  session->send(proto::finish(builder, Body::Preparing, proto::CreatePreparing(builder, request_, text, done, total)));
}

bool SessionReply::client_gone() const {
  const auto session = session_.lock();
  if (refused_ || !session) return true;
  if (!session->client_gone()) return false;
  session->take_last_messages();
  return true;
}

void SessionReply::want_crew(std::string_view token) {
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  auto& builder = session->builder_;
  builder.Clear();
  const auto text = builder.CreateString(token);
  session->send(proto::finish(builder, Body::CrewWanted, proto::CreateCrewWanted(builder, text)));
}

void SessionReply::refused(const Error& error) {
  refused_ = true;
  if (attachment_) return failed(error);  // it was attached before the fault came
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  session->pending_.erase(request_);
  session->send_error(request_, shown(error));
}

void SessionReply::spec_refused(const std::string& message) {
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  session->pending_.erase(request_);
  session->send_error(request_, {Trouble::kDenied, message}, proto::ErrorCode::spec_refused);
}

void SessionReply::attached(std::unique_ptr<Attachment> attachment, const AttachedInfo& info) {
  const auto session = session_.lock();
  if (refused_ || !session || session->state_ == Session::State::kEnded) return;
  session->pending_.erase(request_);
  attachment_ = session->next_attachment_++;
  layout_ = info.layout;

  auto& builder = session->builder_;
  builder.Clear();
  std::vector<flatbuffers::Offset<proto::OutputSchema>> outputs;
  for (size_t i = 0; i < info.layout->tensors().size(); i++) outputs.push_back(schema_of(builder, *info.layout, i));
  const auto pipeline = builder.CreateString(info.pipeline);
  const auto position = proto::CreatePosition(builder, info.position.epoch, info.position.step);
  const auto fingerprint = builder.CreateString(info.fingerprint);
  const auto schema = builder.CreateVector(outputs);
  const auto sources = info.sources.empty() ? 0 : builder.CreateVectorOfStrings(info.sources);
  const ClassNames classes = class_names(builder, info.classes);
  const auto missing = missing_of(builder, info, hidden_);
  const bool on_gpu = memory::on_gpu(info.memory);
  const auto gpu = on_gpu ? builder.CreateVector(info.gpu.data(), info.gpu.size()) : 0;
  const auto device_slots = device_slots_of(builder, info);
  // The digests only make a later sentence clearer: they stay away where they would make the message too long.
  const bool has_room = builder.GetSize() + info.key_digests.size() + kAttachedTableBytes <= proto::kMessageBytesMax;
  const auto key_digests = has_room && !info.key_digests.empty() ? builder.CreateString(info.key_digests) : 0;
  proto::AttachedBuilder message(builder);
  message.add_request(request_);
  message.add_attachment(attachment_);
  message.add_pipeline(pipeline);
  message.add_memory(kind_of(info.memory));
  message.add_access(info.access == memory::Access::kWritable ? proto::Access::writable : proto::Access::copy_on_write);
  message.add_slot_count(static_cast<uint32_t>(info.slots.size()));
  message.add_slot_bytes(info.slot_bytes);
  message.add_batch_size(info.layout->batch_size());
  message.add_global_size(info.global_size);
  message.add_samples(info.samples);
  message.add_steps_per_epoch(info.steps_per_epoch);
  message.add_epochs(info.epochs);
  message.add_seed(info.seed);
  message.add_position(position);
  message.add_fingerprint(fingerprint);
  message.add_outputs(schema);
  message.add_shared(info.shared);
  message.add_leases_max(info.leases_max);
  message.add_sources(sources);
  message.add_missing(missing);
  message.add_missing_count(info.missing_count);
  message.add_last_samples(info.last_samples);
  message.add_empty_steps(info.empty_steps);
  message.add_key_digests(key_digests);
  if (on_gpu) {
    message.add_gpu(gpu);
    message.add_device_slots(device_slots);
    message.add_ready_early(info.ready_early);
    message.add_ipc_namespace(namespace_of("/proc/self/ns/ipc"));
    message.add_pid_namespace(namespace_of("/proc/self/ns/pid"));
  }
  message.add_push_steps_max(info.push_steps_max);
  message.add_push_ids_max(info.push_ids_max);
  message.add_class_count(classes.count);
  message.add_classes(classes.inside);
  message.add_classes_in_fd(static_cast<bool>(classes.memory));
  const auto bytes = proto::finish(builder, Body::Attached, message.Finish());
  session->attachments_[attachment_] = {shared_from_this(), std::move(attachment), false};
  std::vector<int> fds = fds_of(info);
  if (classes.memory) fds.push_back(classes.memory.get());
  session->send(bytes, fds);
  if (failed_before_) failed(*failed_before_);
}

void SessionReply::on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) {
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  auto& builder = session->builder_;
  builder.Clear();
  const auto views = batch::views_of(*layout_, batch.slot->contents);
  std::vector<flatbuffers::Offset<proto::TensorDescriptor>> tensors;
  for (size_t i = 0; i < views.size(); i++) tensors.push_back(descriptor_of(builder, *layout_, i, views[i]));
  const auto described = builder.CreateVector(tensors);
  const auto position = proto::CreatePosition(builder, batch.position.epoch, batch.position.step);
  const proto::SampleRange range(batch.slice.first, batch.slice.count);
  const auto of_source = batch.of_source.empty() ? 0 : builder.CreateVector(batch.of_source);
  const auto bad = bad_of(builder, batch, hidden_);
  proto::ReadyBuilder message(builder);
  message.add_attachment(attachment_);
  message.add_run(run);
  message.add_slot(batch.slot->index);
  message.add_generation(generation);
  message.add_position(position);
  message.add_valid(batch.valid());
  message.add_tensors(described);
  message.add_range(&range);
  message.add_substituted(static_cast<uint32_t>(batch.substituted.size()));
  message.add_masked(static_cast<uint32_t>(batch.masked.size()));
  message.add_padded(static_cast<uint32_t>(batch.padded()));
  message.add_source_counts(of_source);
  message.add_unsupported(count_of(batch, batch::FlawKind::kUnsupported));
  message.add_too_long(count_of(batch, batch::FlawKind::kTooLong));
  message.add_bad(bad);
  message.add_absent(static_cast<uint32_t>(batch.absent.size()));
  message.add_dropped(count_of(batch, batch::FlawKind::kDropped));
  session->send(proto::finish(builder, Body::Ready, message.Finish()));
}

void SessionReply::seek_refused(uint32_t request, const Error& error) {
  if (const auto session = session_.lock()) session->send_error(request, shown(error));
}

void SessionReply::failed(const Error& error) {
  if (attachment_ == 0) {
    failed_before_ = error;
    return;
  }
  const auto session = session_.lock();
  if (!session || session->state_ == Session::State::kEnded) return;
  auto& builder = session->builder_;
  builder.Clear();
  const auto text = builder.CreateString(shown(error).message.substr(0, proto::kMessageBytesMax / 2));
  session->send(
      proto::finish(builder, Body::Failed, proto::CreateFailed(builder, attachment_, code_of(error.trouble), text)));
}

}  // namespace spdld::control
