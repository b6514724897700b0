#include "daemon/user/crews.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/text/dtype.h"
#include "config/text/json.h"
#include "config/text/value_type.h"
#include "daemon/base/system/cpu.h"
#include "daemon/user/errand_stage.h"
#include "daemon/user/making_fetcher.h"

namespace spdld::user {
namespace {

using config::Json;

constexpr uint64_t kRecordsMin = 8;  // for which there must be scratch memory

// {"kind": "tensor", "dtype": "uint8", "shape": [4, null]}
Json signature_document(const config::Signature& signature) {
  Json document = Json::object();
  if (signature.kind() != config::SignatureKind::kTensor) {
    document["kind"] = "bytes";
    return document;
  }
  document["kind"] = "tensor";
  document["dtype"] = std::string(config::dtype_name(signature.dtype()));
  document["shape"] = Json::array();
  for (const config::Dimension& dimension : signature.dimensions)
    document["shape"].push_back(dimension.is_fixed() ? Json(dimension.value()) : Json());
  return document;
}

Json type_document(const config::ValueType& type) {
  Json document = Json::object();
  document["kind"] = type.dtype ? "tensor" : "bytes";
  if (!type.dtype) return document;
  document["dtype"] = std::string(config::dtype_name(*type.dtype));
  document["shape"] = Json::array();
  for (const int64_t size : type.shape) document["shape"].push_back(size < 0 ? Json() : Json(size));
  return document;
}

Json value_document(const config::OperationSpec& op) {
  return type_document(config::value_type_in(op.text("gives")).value());
}

// All texts and numbers of the operation, and what passes in and out.
Json op_document(const pipeline::Errand& errand, size_t at) {
  const config::OperationSpec& op = errand.ops[at];
  Json document = Json::object();
  for (const auto& [name, value] : op.parameters) {
    if (const auto* text = std::get_if<std::string>(&value)) document[name] = *text;
    if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && *number > 0) document[name] = *number;
  }
  document["place"] = errand.first + at;
  document["takes"] = at == 0 ? signature_document(errand.takes) : value_document(errand.ops[at - 1]);
  document["gives"] = value_document(op);  // in place of its text
  return document;
}

Json errand_document(const pipeline::Errand& errand, double call_limit_s) {
  Json document = Json::object();
  document["output"] = errand.output;
  document["call_limit_s"] = call_limit_s;
  document["takes"] = signature_document(errand.takes);
  document["gives"] = signature_document(errand.gives);
  document["ops"] = Json::array();
  for (size_t at = 0; at < errand.ops.size(); at++) document["ops"].push_back(op_document(errand, at));
  return document;
}

Json making_document(const pipeline::Making& making) {
  Json document = Json::object();
  document["source"] = making.output;
  document["samples"] = making.items;
  document["takes"] = Json::object();
  document["takes"]["kind"] = "index";
  document["gives"] = Json::object();
  document["gives"]["kind"] = "record";
  document["gives"]["fields"] = Json::array();
  for (const config::NamedValueType& value : making.values) {
    Json field = type_document(value.type);
    field["name"] = value.name;
    document["gives"]["fields"].push_back(std::move(field));
  }
  Json op = Json::object();
  op["call"] = making.ops.front().text("call");
  op["code"] = making.ops.front().text("code");
  op["place"] = uint64_t{0};
  document["ops"] = Json::array();
  document["ops"].push_back(std::move(op));
  return document;
}

// A record that takes a large part of the scratch memory would keep others from being made.
void check_room(const pipeline::Making& making, uint64_t scratch_bytes) {
  const uint64_t bytes = record_bytes(making), needed = bytes * kRecordsMin;
  if (needed <= scratch_bytes) return;
  throw SetupError(Trouble::kUsage, name_of(making) + ": its items take " + std::to_string(bytes) +
                                        " bytes each, and the memory for " + std::to_string(kRecordsMin) +
                                        " of them is needed: write scratch = " + std::to_string(needed) +
                                        ", or more, under [python]");
}

Door::Settings settings_of(const pipeline::Pipeline& pipeline, uint32_t workers) {
  const config::PipelineSpec& spec = pipeline.spec();
  Json document = Json::object();
  document["errands"] = Json::array();
  Door::Settings settings;
  for (const pipeline::Making& making : pipeline.plan().makings()) {
    if (making.executor != config::kUserExecutor) continue;
    check_room(making, static_cast<uint64_t>(spec.python.scratch_bytes));
    document["errands"].push_back(making_document(making));
    settings.crew.makings.push_back(&making);
  }
  for (const pipeline::Errand& errand : pipeline.plan().errands()) {
    if (errand.executor != config::kUserExecutor) continue;
    document["errands"].push_back(errand_document(errand, spec.python.call_limit_s));
    settings.crew.errands.push_back(&errand);
  }
  settings.errands = document.dump();
  settings.memory_max = static_cast<uint64_t>(spec.python.memory_bytes_max);
  settings.crew.pipeline = spec.name;
  settings.crew.seed = spec.seed;
  settings.crew.workers = spec.python.processes > 0 ? spec.python.processes : workers;
  settings.crew.call_limit_ns = static_cast<uint64_t>(spec.python.call_limit_s * 1e9);
  settings.crew.scratch_bytes = static_cast<uint64_t>(spec.python.scratch_bytes);
  return settings;
}

}  // namespace

// The doors by pipeline. Any thread.
class Crews::Book {
 public:
  using Doors = std::map<const pipeline::Pipeline*, std::shared_ptr<Door>>;

  void add(const pipeline::Pipeline& pipeline, std::shared_ptr<Door> door) {
    const std::lock_guard lock(mutex_);
    doors_[&pipeline] = std::move(door);
  }
  void remove(const pipeline::Pipeline& pipeline) {
    const std::lock_guard lock(mutex_);
    doors_.erase(&pipeline);
  }
  std::shared_ptr<Door> find(const pipeline::Pipeline& pipeline) const {
    const std::lock_guard lock(mutex_);
    const auto at = doors_.find(&pipeline);
    return at == doors_.end() ? nullptr : at->second;
  }
  Doors all() const {
    const std::lock_guard lock(mutex_);
    return doors_;
  }

 private:
  mutable std::mutex mutex_;
  Doors doors_;
};

class Crews::Own final : public pipeline::Delegate {
 public:
  Own(const pipeline::Pipeline& pipeline, std::shared_ptr<Book> book, std::shared_ptr<ToControl> control,
      uint32_t workers)
      : pipeline_(pipeline),
        book_(std::move(book)),
        control_(std::move(control)),
        door_(Door::make(control_, settings_of(pipeline, workers))) {
    book_->add(pipeline, door_);
  }
  // The door's process is the control thread's to end.
  ~Own() override {
    book_->remove(pipeline_);
    control_->post([door = std::move(door_)] { door->shut(); });
  }

  media::ScratchMemory& scratch() override { return door_->crew().scratch(); }
  std::unique_ptr<pipeline::Stage> make_stage(std::vector<const pipeline::Errand*> errands) override {
    return std::make_unique<ErrandStage>(door_->crew(), std::move(errands));
  }
  void end_lending(const memory::SlotMemory& slot) override { door_->crew().end_lending(slot); }
  std::optional<Supply> make_supply(source::Fetcher& others) override {
    if (door_->crew().settings().makings.empty()) return std::nullopt;
    return Supply{std::make_unique<MakingFetcher>(door_->crew(), pipeline_, others), account_of_making()};
  }

 private:
  const pipeline::Pipeline& pipeline_;
  const std::shared_ptr<Book> book_;
  const std::shared_ptr<ToControl> control_;
  std::shared_ptr<Door> door_;
};

Crews::Crews(EventLoop& loop, uint32_t workers)
    : control_(std::make_shared<ToControl>(loop)), book_(std::make_shared<Book>()), workers_(workers) {}

Crews::~Crews() { control_->end(); }

pipeline::DelegateMaker Crews::maker() const {
  return [book = book_, control = control_, workers = workers_](const pipeline::Pipeline& pipeline) {
    return std::make_unique<Own>(pipeline, book, control, workers);
  };
}

Status Crews::attend(const pipeline::Pipeline& pipeline, const control::Client& client, bool starts_crews,
                     const std::shared_ptr<control::AttachReply>& reply) {
  const auto door = book_->find(pipeline);
  if (!door) return Done{};
  if (!door->is_of(client.uid)) return Error{Trouble::kDenied, "the functions of this pipeline run as another user"};
  if (starts_crews)
    door->add_starter(client.uid, reply);
  else if (!door->has_process())
    return Error{
        Trouble::kUnsupported,
        "this pipeline has operations of users' own code, which processes of a Python trainer run: attach with "
        "spdld.attach or spdld.torch.Loader"};
  return Done{};
}

void Crews::set_in_use(const pipeline::Pipeline& pipeline, bool in_use) {
  if (const auto door = book_->find(pipeline)) door->set_in_use(in_use);
}

// A token of another user's is as good as none. A process that comes too late is told that it is not wanted.
Result<std::unique_ptr<control::CrewSeat>> Crews::join(const control::Client& client, std::string_view token,
                                                       const std::shared_ptr<control::CrewReply>& process) {
  for (const auto& [pipeline, door] : book_->all())
    if (door->has_token(token) && door->is_of(client.uid)) return door->join(process);
  return Error{Trouble::kNotFound, "no crew is wanted with this token"};
}

void Crews::tick(uint64_t now_ns) {
  for (const auto& [pipeline, door] : book_->all()) door->tick(now_ns);
}

}  // namespace spdld::user
