// A daemon that wants a crew of every trainer, for the tests of Python operations (crew_case.py). It listens at PATH,
// says so by a line, and then answers each line of JSON on its stdin by one, until its stdin ends.
//
//   fake_crew_daemon PATH TOKEN ERRANDS MEMORY_MAX
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/crew_host.h"
#include "tests/support/fake_daemon.h"

namespace {

using namespace spdld;
using namespace spdld::test;
using nlohmann::json;
using proto::crew::Task;
using proto::crew::TaskKind;

constexpr uint64_t kScratchBytes = 64u << 20;
constexpr uint64_t kInputAt = 0, kRoomAt = 32u << 20, kParts = 64;

std::string hex_of(const uint8_t* bytes, uint64_t count) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (uint64_t i = 0; i < count; i++) text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

// Each of some tasks in turn has a part of the scratch memory for its input.
Task task_of(const json& asked, const SharedMemory& scratch, uint64_t place) {
  Task task{};
  task.errand = asked.value("errand", 0u);
  task.key = asked.value("key", uint64_t{0});
  task.sample = asked.value("sample", uint64_t{0});
  task.index = asked.value("index", uint64_t{0});
  task.is_alone = asked.value("alone", false) ? 1 : 0;
  const std::string data = asked.value("data", "");
  task.input = {kInputAt + place * (256u << 10), data.size() / 2};
  for (uint64_t i = 0; i < data.size() / 2; i++)
    scratch.start()[task.input.offset + i] = static_cast<uint8_t>(std::stoi(data.substr(2 * i, 2), nullptr, 16));
  for (const int64_t size : asked.value("shape", std::vector<int64_t>()))
    task.input_shape.sizes[task.input_shape.dimensions++] = size;
  task.room = {kRoomAt + place * (256u << 10), asked.value("room", uint64_t{0})};
  std::fill(std::begin(task.value_at), std::end(task.value_at), proto::crew::kInRecord);
  task.slot = asked.value("slot", 0u);
  if (asked.contains("room_at")) task.room.offset = asked["room_at"];
  uint32_t value = 0;
  for (const json& at : asked.value("value_at", json::array())) {
    if (!at.is_null()) task.value_at[value] = at;
    value++;
  }
  if (asked.contains("input_bytes")) task.input.bytes = asked["input_bytes"];
  return task;
}

json shown(const CrewReply& taken) {
  const proto::crew::Reply& reply = taken.reply;
  constexpr const char* kKinds[] = {"done", "needs room", "bad", "again", "dropped", "no slot"};
  const std::vector<int64_t> shape(reply.shape.sizes, reply.shape.sizes + reply.shape.dimensions);
  return {{"number", reply.number}, {"kind", kKinds[static_cast<uint32_t>(reply.kind)]},
          {"bytes", reply.bytes},   {"shape", shape},
          {"text", taken.text},     {"call_ns", reply.call_ns}};
}

class Desk {
 public:
  explicit Desk(CrewHost& host) : host_(host) {}

  json answer(const json& asked) {
    const std::string what = asked.at("do");
    const uint32_t worker = asked.value("worker", 0u);
    const int wait_ms = asked.value("wait_ms", 10'000);
    if (what == "said") {
      const auto said = host_.take_said(wait_ms);
      if (!said) return nullptr;
      return {{"what", said->what}, {"text", said->text}, {"number", said->number}, {"total", said->total}};
    }
    if (what == "start") host_.start_worker(worker);
    if (what == "end") host_.end_worker(worker);
    if (what == "hang up") host_.hang_up();
    if (what == "call") return call(asked, worker);
    if (what == "call all") return call_all(asked, worker);
    if (what == "begun") return begun(worker);
    if (what == "reply") return reply(worker, wait_ms);
    if (what == "room" || what == "drop") {
      Task task{};
      task.number = asked.at("number");
      task.kind = what == "room" ? TaskKind::kRoom : TaskKind::kDrop;
      task.room = {kRoomAt + (16u << 20), asked.value("bytes", uint64_t{0})};
      rooms_[{worker, task.number}] = task.room.offset;
      host_.ring(worker).put(task);
    }
    if (what == "slot") {  // of so many bytes; `told`: as many as the task says
      auto& slot = slots_[asked.at("slot")];
      slot = std::make_unique<SharedMemory>(asked.at("bytes"));
      host_.ring(worker).send(slot->fd());
      host_.ring(worker).announce_slot(asked.at("slot"), asked.value("told", slot->bytes()));
    }
    if (what == "slot gone") {
      Task task{};
      task.kind = TaskKind::kSlotGone, task.slot = asked.at("slot");
      host_.ring(worker).put(task);
    }
    if (what == "look") {
      const SharedMemory& slot = *slots_.at(asked.at("slot"));
      return hex_of(slot.start(), slot.bytes());
    }
    if (what == "measure") return measure(asked, worker);
    return nullptr;
  }

 private:
  json call(const json& asked, uint32_t worker) {
    const Task task = task_of(asked, host_.scratch(), calls_++ % kParts);
    const uint64_t number = host_.ring(worker).put(task);
    rooms_[{worker, number}] = asked.contains("room_at") ? 0 : task.room.offset;
    return number;
  }
  // Each of `calls` is as in call().
  json call_all(const json& asked, uint32_t worker) {
    std::vector<Task> tasks;
    for (const json& one : asked.at("calls")) tasks.push_back(task_of(one, host_.scratch(), calls_++ % kParts));
    const std::vector<uint64_t> numbers = host_.ring(worker).put_all(tasks);
    for (size_t i = 0; i < tasks.size(); i++)
      rooms_[{worker, numbers[i]}] = asked.at("calls")[i].contains("room_at") ? 0 : tasks[i].room.offset;
    return numbers;
  }
  // The numbers of calls that it has begun, ever, with how many are under way at once.
  json begun(uint32_t worker) {
    json found = json::array();
    for (const std::atomic<uint64_t>& word : host_.ring(worker).ring().begun)
      if (word != 0) found.push_back({proto::crew::begun_number(word), proto::crew::begun_in_flight(word)});
    return found;
  }
  json reply(uint32_t worker, int wait_ms) {
    const auto taken = host_.ring(worker).take(wait_ms);
    if (!taken) return nullptr;
    json told = shown(*taken);
    if (taken->reply.kind == proto::crew::ReplyKind::kDone) {
      const uint8_t* const room = host_.scratch().start() + rooms_.at({worker, taken->reply.number});
      told["data"] = hex_of(room, taken->reply.bytes);
    }
    return told;
  }
  // Microseconds of a task, of `count` with so many on their way at once.
  json measure(const json& asked, uint32_t worker) {
    CrewRing& ring = host_.ring(worker);
    const uint64_t count = asked.at("count"), ahead = asked.at("ahead");
    Task task = task_of(asked, host_.scratch(), 0);
    const auto start = std::chrono::steady_clock::now();
    uint64_t put = 0, call_ns = 0;
    for (uint64_t taken = 0; taken < count; taken++) {
      for (; put < count && put - taken < ahead; put++) ring.put(task);
      const auto reply = ring.take(10'000);
      if (!reply || reply->reply.kind != proto::crew::ReplyKind::kDone) return reply ? json(reply->text) : nullptr;
      call_ns += reply->reply.call_ns;
    }
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    const double number = static_cast<double>(count);
    return {{"us", spent.count() / number}, {"call_us", static_cast<double>(call_ns) / 1000 / number}};
  }

  CrewHost& host_;
  uint64_t calls_ = 0;
  std::map<uint32_t, std::unique_ptr<SharedMemory>> slots_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> rooms_;  // where the result of a worker's task is to lie
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  try {
    CrewHost host(arguments[2], arguments[3], kScratchBytes, std::stoull(arguments[4]));
    FakeScript script;
    script.crew_token = arguments[2];
    script.on_other = [&host](int socket, const proto::Message& message) { return host.serve(socket, message); };
    const FakeDaemon daemon(arguments[1], script);
    Desk desk(host);
    std::cout << "listening" << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << desk.answer(json::parse(line)) << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "fake_crew_daemon: " << error.what() << "\n";
    return 1;
  }
}
