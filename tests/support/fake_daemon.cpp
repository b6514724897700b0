#include "tests/support/fake_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <stdexcept>

namespace spdld::test {

namespace {

constexpr uint32_t kAttachment = 7;

// A slot's memory as its daemon writes it.
struct Slot {
  UniqueFd memory;
  unsigned char* start = nullptr;
  size_t bytes = 0;
  bool leased = false;
  uint64_t generation = 0;

  Slot() = default;
  Slot(Slot&& other) noexcept
      : memory(std::move(other.memory)), start(std::exchange(other.start, nullptr)), bytes(other.bytes) {}
  ~Slot() {
    if (start) ::munmap(start, bytes);
  }
};

struct FakeStep {
  uint64_t epoch = 0, step = 0;
  std::vector<uint64_t> ids;
};

bool send_error(int socket, uint32_t request, proto::ErrorCode code, const std::string& text) {
  flatbuffers::FlatBufferBuilder builder;
  const auto message = builder.CreateString(text);
  const auto body = proto::CreateErrorReply(builder, request, code, message);
  return proto::send_message(socket, proto::finish(builder, proto::Body::ErrorReply, body)) == proto::IoStatus::kOk;
}

// The session stays open, so that nothing but the message tells of the end.
bool send_goodbye(int socket) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString("because the script says so");
  return proto::send_message(socket, proto::finish(builder, proto::Body::Goodbye,
                                                   proto::CreateGoodbye(builder, text))) == proto::IoStatus::kOk;
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<proto::BadReason>>> bad_of(
    flatbuffers::FlatBufferBuilder& builder, const FakeReady& ready) {
  std::vector<flatbuffers::Offset<proto::BadReason>> reasons;
  for (const FakeReady::Bad& bad : ready.bad) {
    const auto reason = builder.CreateString(bad.reason), name = builder.CreateString(bad.name);
    reasons.push_back(proto::CreateBadReason(builder, bad.kind, reason, bad.count, bad.sample, name));
  }
  return reasons.empty() ? 0 : builder.CreateVector(reasons);
}

}  // namespace

struct FakeDaemon::Session {
  explicit Session(UniqueFd accepted) : socket(std::move(accepted)) {}
  UniqueFd socket;
  std::vector<Slot> slots;
  std::unique_ptr<FakeSlots> device;  // in place of the slots' own memory
  bool attached = false, detached = false;
  uint64_t epoch = 0, step = 0, sent = 0, next_generation = 1;
  uint32_t run = 0;
  std::deque<FakeStep> pushed;  // and not sent
};

FakeDaemon::FakeDaemon(std::string path, FakeScript script)
    : path_(std::move(path)),
      script_(std::move(script)),
      listener_(proto::listen_at(path_, 0600)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!listener_ || !stop_) throw std::runtime_error("cannot listen at " + path_);
  if (script_.backlog > 0) ::listen(listener_.get(), script_.backlog);
  thread_ = std::thread([this] { run(); });
}

FakeDaemon::~FakeDaemon() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

FakeCounts FakeDaemon::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool FakeDaemon::wait_until(const std::function<bool(const FakeCounts&)>& reached) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(5), [&] { return reached(counts_); });
}

void FakeDaemon::run() {
  for (;;) {  // ends with stop_
    std::vector<pollfd> entries = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const auto& session : sessions_) entries.push_back({session->socket.get(), POLLIN, 0});
    if (::poll(entries.data(), entries.size(), -1) < 0) continue;
    if (entries[0].revents != 0) return;
    for (size_t i = entries.size(); i-- > 2;) {
      if (entries[i].revents == 0 || serve(*sessions_[i - 2])) continue;
      sessions_.erase(sessions_.begin() + static_cast<ptrdiff_t>(i - 2));
      count([](FakeCounts& counts) { ++counts.ended_sessions, --counts.open_sessions; });
    }
    if (entries[1].revents != 0) accept_one();
  }
}

void FakeDaemon::accept_one() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  sessions_.push_back(std::make_unique<Session>(std::move(socket)));
  count([](FakeCounts& counts) { ++counts.open_sessions; });
}

bool FakeDaemon::serve(Session& session) {
  proto::Received received;
  const proto::IoStatus status = proto::receive_message(session.socket.get(), received);
  if (status == proto::IoStatus::kWouldBlock) return true;
  if (status != proto::IoStatus::kOk) return false;
  const proto::Message* message = proto::parse(received.bytes);
  if (!message) return send_error(session.socket.get(), 0, proto::ErrorCode::malformed, "no message");
  return serve_message(session, *message, received.fds) && send_batches(session);
}

bool FakeDaemon::serve_message(Session& session, const proto::Message& message, std::vector<UniqueFd>& fds) {
  switch (message.body_type()) {
    case proto::Body::Hello:
      return answer_hello(session, *message.body_as_Hello(), fds);
    case proto::Body::Attach:
      return answer_attach(session, *message.body_as_Attach(), fds);
    case proto::Body::Query:
      return answer_query(session, *message.body_as_Query());
    case proto::Body::Release:
      take_release(session, *message.body_as_Release());
      return true;
    case proto::Body::Detach:
      take_detach(session, *message.body_as_Detach());
      return true;
    case proto::Body::Seek: {
      const proto::Seek& seek = *message.body_as_Seek();
      count([&](FakeCounts& counts) { counts.waits += seek.waits(); });
      if (seek.waits() && seek.run() == session.run) return true;
      session.run = seek.run();
      session.epoch = seek.position()->epoch();
      session.step = seek.position()->step();
      session.pushed.clear();
      take_back(session, *seek.keeps());
      count([&](FakeCounts& counts) { ++counts.seeks, counts.stays += seek.stays(), counts.again += seek.again(); });
      return true;
    }
    case proto::Body::Push:
      return take_push(session, *message.body_as_Push());
    default:
      if (script_.on_other) return script_.on_other(session.socket.get(), message);
      return send_error(session.socket.get(), 0, proto::ErrorCode::unexpected, "not from a client");
  }
}

bool FakeDaemon::answer_hello(Session& session, const proto::Hello& hello, const std::vector<UniqueFd>& fds) {
  count([&](FakeCounts& counts) {
    ++counts.hellos;
    counts.pidfds += fds.size() == 1 && proto::is_pidfd(fds[0].get()) ? 1 : 0;
    counts.last_client = proto::text_of(hello.client());
  });
  if (!script_.answers_hello || counts().hellos > script_.answers_hellos) return true;
  if (script_.hello_goodbye && refused_attaches_++ < script_.attach_errors) return send_goodbye(session.socket.get());
  if (script_.hello_error != proto::ErrorCode::none) {
    send_error(session.socket.get(), 0, script_.hello_error, "hello was refused");
    return false;
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(script_.daemon);
  const auto id = builder.CreateString("id");
  const auto body = proto::CreateWelcome(builder, script_.version, name, id, 1);
  return proto::send_message(session.socket.get(), proto::finish(builder, proto::Body::Welcome, body)) ==
         proto::IoStatus::kOk;
}

bool FakeDaemon::answer_attach(Session& session, const proto::Attach& attach, std::vector<UniqueFd>& fds) {
  std::string spec(proto::text_of(attach.spec()));
  if (attach.spec_in_fd() && (fds.size() != 1 || !proto::text_from_memfd(fds[0].get(), proto::kTextBytesMax, spec))) {
    return false;
  }
  count([&](FakeCounts& counts) {
    ++counts.attaches;
    if (attach.position()) counts.last_place = {attach.position()->epoch(), attach.position()->step()};
    counts.last_sought.reset();
    if (attach.sought()) counts.last_sought = {attach.sought()->epoch(), attach.sought()->step()};
    counts.last_spec = spec;
    counts.last_folder = proto::text_of(attach.spec_folder());
    counts.last_group = proto::text_of(attach.group());
    counts.last_rank = attach.rank();
    counts.last_world_size = attach.world_size();
    counts.last_local_rank = attach.local_rank();
    counts.last_device = proto::text_of(attach.device());
    counts.last_transport = attach.transport();
    counts.last_ready_early = attach.ready_early();
    counts.last_starts_crews = attach.starts_crews();
    counts.last_gpus.clear(), counts.last_fd_gpus = 0;
    for (uint32_t i = 0; attach.gpus() && i < attach.gpus()->size(); ++i) {
      const proto::Gpu& gpu = *attach.gpus()->Get(i);
      counts.last_gpus.emplace_back(gpu.uuid()->begin(), gpu.uuid()->end());
      counts.last_fd_gpus += gpu.shares_fds() ? 1 : 0;
    }
  });
  const int socket = session.socket.get();
  if (script_.attach_goodbye && refused_attaches_++ < script_.attach_errors) return send_goodbye(socket);
  if (script_.attach_error != proto::ErrorCode::none && refused_attaches_ < script_.attach_errors) {
    ++refused_attaches_;
    return send_error(socket, attach.request(), script_.attach_error, script_.error_text);
  }
  for (uint32_t i = 0; i < script_.preparing; ++i) {
    flatbuffers::FlatBufferBuilder builder;
    const auto what = builder.CreateString(script_.preparing_what);
    proto::send_message(socket, proto::finish(builder, proto::Body::Preparing,
                                              proto::CreatePreparing(builder, attach.request(), what, i, 10)));
  }
  if (script_.crew_after == 0) want_crew(session);
  if (script_.before_attached) script_.before_attached();
  if (!script_.answers_attach) return true;
  if (script_.make_slots) session.device = script_.make_slots(script_, attach);
  make_slots(session);
  session.attached = true;
  session.epoch = attach.position()->epoch();
  session.step = attach.position()->step() - std::min(script_.behind_steps, attach.position()->step());
  return send_attached(session, attach);
}

void FakeDaemon::want_crew(Session& session) {
  if (script_.crew_token.empty()) return;
  flatbuffers::FlatBufferBuilder builder;
  const auto body = proto::CreateCrewWantedDirect(builder, script_.crew_token.c_str());
  proto::send_message(session.socket.get(), proto::finish(builder, proto::Body::CrewWanted, body));
}

bool FakeDaemon::send_attached(Session& session, const proto::Attach& attach) {
  FakeDevice device;
  std::vector<int> memory;
  if (session.device) {
    session.device->describe(device);
    memory = session.device->fds();
  } else if (!script_.tamper_device || script_.memory == proto::MemoryKind::cuda_vmm) {
    for (const Slot& slot : session.slots) memory.push_back(slot.memory.get());
  }
  if (script_.tamper_device) script_.tamper_device(device, attach);
  if (script_.forgets_a_slot) memory.pop_back();

  UniqueFd classes_memory;
  if (!script_.classes_memory.empty()) {
    classes_memory = script_.seals_classes ? proto::text_to_memfd(script_.classes_memory, "classes")
                                           : UniqueFd(::memfd_create("classes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!script_.forgets_classes) memory.push_back(classes_memory.get());
  }

  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<proto::DeviceSlot>> slots;
  for (const FakeDeviceSlot& slot : device.slots) {
    slots.push_back(proto::CreateDeviceSlotDirect(builder, slot.bytes, &slot.memory, slot.offset, &slot.copied));
  }
  const auto pipeline = builder.CreateString(script_.pipeline);
  const auto fingerprint = builder.CreateString(script_.fingerprint);
  const auto position = proto::CreatePosition(builder, session.epoch, session.step);
  const auto gpu = builder.CreateVector(device.gpu);
  const auto described = builder.CreateVector(slots);
  const auto missing = script_.missing.empty() ? 0 : builder.CreateVectorOfStrings(script_.missing);
  const auto sources = script_.sources.empty() ? 0 : builder.CreateVectorOfStrings(script_.sources);
  const auto classes = script_.classes.empty() ? 0 : builder.CreateVectorOfStrings(script_.classes);
  const auto key_digests = script_.key_digests.empty() ? 0 : builder.CreateString(script_.key_digests);
  const auto body = proto::CreateAttached(
      builder, attach.request(), kAttachment, pipeline, script_.memory, script_.access, script_.slot_count,
      script_.slot_bytes, script_.batch_size, script_.batch_size, script_.steps_per_epoch * script_.batch_size,
      script_.push_steps_max ? 0 : script_.steps_per_epoch, script_.epochs, 17, position, fingerprint, 0,
      !script_.classes_memory.empty(), gpu, described, device.ready_early, device.ipc_namespace, device.pid_namespace,
      false, 0, script_.push_steps_max, script_.push_ids_max, sources, script_.class_count, classes, missing,
      script_.missing_count, 0, 0, key_digests);
  return proto::send_message(session.socket.get(), proto::finish(builder, proto::Body::Attached, body), memory) ==
         proto::IoStatus::kOk;
}

void FakeDaemon::make_slots(Session& session) {
  for (uint32_t i = 0; i < script_.slot_count; ++i) {
    Slot slot;
    slot.bytes = script_.slot_file_bytes ? script_.slot_file_bytes : script_.slot_bytes;
    slot.memory = UniqueFd(::memfd_create("fake-slot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (::ftruncate(slot.memory.get(), static_cast<off_t>(slot.bytes)) != 0) throw std::runtime_error("ftruncate");
    void* start = ::mmap(nullptr, slot.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slot.memory.get(), 0);
    if (start == MAP_FAILED) throw std::runtime_error("mmap");
    slot.start = static_cast<unsigned char*>(start);
    const int sharing = script_.access == proto::Access::copy_on_write ? F_SEAL_FUTURE_WRITE : 0;
    if (script_.seals_slots) ::fcntl(slot.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | sharing);
    session.slots.push_back(std::move(slot));
  }
}

bool FakeDaemon::answer_query(Session& session, const proto::Query& query) {
  if (!script_.answers_query) return true;
  if (script_.query_goodbye) return send_goodbye(session.socket.get());
  flatbuffers::FlatBufferBuilder builder;
  const auto json = builder.CreateString(script_.answer_in_fd ? "" : script_.answer_json);
  const auto body =
      proto::CreateAnswer(builder, query.request(), json, script_.answer_in_fd, script_.answer_json.size());
  const UniqueFd memory = proto::text_to_memfd(script_.answer_json, "fake-answer");
  const int fds[] = {memory.get()};
  return proto::send_message(session.socket.get(), proto::finish(builder, proto::Body::Answer, body),
                             {fds, script_.answer_in_fd ? size_t{1} : size_t{0}}) == proto::IoStatus::kOk;
}

void FakeDaemon::take_release(Session& session, const proto::Release& release) {
  const bool known = release.attachment() == kAttachment && release.slot() < session.slots.size();
  const bool right =
      known && session.slots[release.slot()].leased && session.slots[release.slot()].generation == release.generation();
  if (right) session.slots[release.slot()].leased = false;
  if (right && session.detached && session.device) session.device->free(release.slot());
  count([&](FakeCounts& counts) {
    ++(right ? counts.releases : counts.wrong_releases);
    counts.last_waited_us = release.waited_us();
  });
}

void FakeDaemon::take_back(Session& session, const flatbuffers::Vector<const proto::LeaseId*>& keeps) {
  for (uint32_t index = 0; index < session.slots.size(); ++index) {
    Slot& slot = session.slots[index];
    const bool kept = std::any_of(keeps.begin(), keeps.end(), [&](const proto::LeaseId* lease) {
      return lease->slot() == index && lease->generation() == slot.generation;
    });
    if (kept || !std::exchange(slot.leased, false)) continue;
    count([](FakeCounts& counts) { ++counts.releases; });
  }
}

bool FakeDaemon::take_push(Session& session, const proto::Push& push) {
  const uint64_t steps = push.sizes() ? push.sizes()->size() : 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < steps; ++i) {
    FakeStep step{push.position()->epoch(), push.position()->step() + i, {}};
    for (uint32_t end = at + push.sizes()->Get(i); at < end; ++at) step.ids.push_back(push.ids()->Get(at));
    session.pushed.push_back(std::move(step));
  }
  count([&](FakeCounts& counts) { ++counts.pushes, counts.pushed_steps += steps, counts.pushed_ends += push.last(); });
  if (script_.push_error == proto::ErrorCode::none) return true;
  return send_error(session.socket.get(), push.request(), script_.push_error, "push was refused");
}

void FakeDaemon::take_detach(Session& session, const proto::Detach& detach) {
  session.attached = false;
  const uint64_t kept = detach.keeps() ? detach.keeps()->size() : 0;
  session.detached = true;
  for (Slot& slot : session.slots) slot.leased = false;
  for (uint64_t i = 0; i < kept; ++i) {
    const proto::LeaseId* lease = detach.keeps()->Get(static_cast<flatbuffers::uoffset_t>(i));
    session.slots.at(lease->slot()).leased = true;
  }
  for (uint32_t slot = 0; session.device && slot < session.slots.size(); ++slot) {
    if (!session.slots[slot].leased) session.device->free(slot);
  }
  count([&](FakeCounts& counts) { ++counts.detaches, counts.kept_leases += kept; });
}

bool FakeDaemon::send_batches(Session& session) {
  if (!session.attached || !script_.sends_batches) return true;
  for (uint32_t slot = 0; slot < session.slots.size(); ++slot) {
    const bool over =
        script_.push_steps_max ? session.pushed.empty() : script_.epochs != 0 && session.epoch >= script_.epochs;
    if (session.slots[slot].leased || over) continue;
    if (script_.end_after != 0 && session.sent == script_.end_after && ended_ < script_.end_sessions) {
      ++ended_;
      return end(session);
    }
    send_ready(session, slot);
    if (session.sent == script_.crew_after) want_crew(session);
  }
  return true;
}

void FakeDaemon::send_ready(Session& session, uint32_t index) {
  Slot& slot = session.slots[index];
  slot.leased = true;
  slot.generation = session.next_generation++;
  const uint64_t size = script_.batch_size;
  FakeStep pushed;
  if (script_.push_steps_max) {
    pushed = std::move(session.pushed.front());
    session.pushed.pop_front();
    session.epoch = pushed.epoch, session.step = pushed.step;
  }
  unsigned char* const start = session.device ? session.device->fill_address(index) : slot.start;
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t number = (session.epoch * script_.steps_per_epoch + session.step) * size + i;
    const uint64_t id = i < pushed.ids.size() ? pushed.ids[i] : number;
    if (128 + 3 * size > slot.bytes) break;
    std::memcpy(start + 8 * i, &id, 8);
    for (uint64_t c = 0; c < 3; ++c) start[128 + 3 * i + c] = static_cast<unsigned char>(id + c);
  }
  if (script_.write) script_.write(start, session.epoch * script_.steps_per_epoch + session.step);
  if (session.device) session.device->publish(index);
  const bool last = session.step + 1 == script_.steps_per_epoch;
  FakeReady ready{
      kAttachment,
      session.run,
      index,
      slot.generation,
      session.epoch,
      session.step,
      script_.push_steps_max ? pushed.ids.size()
      : last                 ? script_.valid_in_last_step
                             : size,
      true,
      {{"sample_id", proto::DType::int64, {size}, {}, 0}, {"image", proto::DType::uint8, {size, 3}, {}, 128}}};
  if (script_.tamper) script_.tamper(ready);
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<proto::TensorDescriptor>> tensors;
  for (const FakeTensor& tensor : ready.tensors) {
    const auto name = builder.CreateString(tensor.name);
    const auto shape = builder.CreateVector(tensor.shape);
    const auto strides = builder.CreateVector(tensor.strides);
    const auto of = tensor.of.empty() ? 0 : builder.CreateString(tensor.of);
    tensors.push_back(
        proto::CreateTensorDescriptor(builder, name, tensor.dtype, shape, strides, tensor.offset, tensor.role, of));
  }
  const auto vector = builder.CreateVector(tensors);
  const auto position = ready.has_position ? proto::CreatePosition(builder, ready.epoch, ready.step)
                                           : flatbuffers::Offset<proto::Position>();
  const proto::SampleRange range(ready.step * size, ready.valid + ready.absent);
  const auto of_source = ready.source_counts.empty() ? 0 : builder.CreateVector(ready.source_counts);
  const auto bad = bad_of(builder, ready);
  const auto body = proto::CreateReady(builder, ready.attachment, ready.run, ready.slot, ready.generation, position,
                                       ready.valid, vector, &range, ready.substituted, ready.masked, ready.padded,
                                       of_source, ready.unsupported, bad, ready.too_long, ready.absent, ready.dropped);
  proto::send_message(session.socket.get(), proto::finish(builder, proto::Body::Ready, body));
  ++session.sent;
  if (++session.step == script_.steps_per_epoch && !script_.push_steps_max) session.step = 0, ++session.epoch;
  count([](FakeCounts& counts) { ++counts.batches; });
}

bool FakeDaemon::end(Session& session) {
  const int socket = session.socket.get();
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString("because the script says so");
  switch (script_.end) {
    case FakeScript::End::kClose:
      return false;
    case FakeScript::End::kGoodbye:
      send_goodbye(socket);
      session.attached = false;
      return true;
    case FakeScript::End::kFailed:
      proto::send_message(socket,
                          proto::finish(builder, proto::Body::Failed,
                                        proto::CreateFailed(builder, kAttachment, proto::ErrorCode::failed, text)));
      session.attached = false;
      return true;
    case FakeScript::End::kComplain:
      send_error(socket, 0, proto::ErrorCode::malformed, "that was wrong");
      return false;
    case FakeScript::End::kGarbage: {
      const uint8_t garbage[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
      proto::send_message(socket, garbage);
      return true;
    }
  }
  return false;
}

}  // namespace spdld::test
