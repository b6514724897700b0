#include "tests/integration/trainer.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>

namespace spdld::test {

Loader attach(const Job& job) {
  AttachOptions options;
  options.socket = job.socket.c_str();
  if (!job.spec.empty()) options.spec = job.spec.c_str();
  if (!job.pipeline.empty()) options.pipeline = job.pipeline.c_str();
  options.group = job.group.c_str();
  options.rank = job.rank, options.world_size = job.world_size;
  options.reader = job.reader, options.readers = job.readers;
  options.epoch = job.epoch, options.step = job.step;
  options.timeout_ms = job.timeout_ms, options.reconnect_ms = job.reconnect_ms;
  options.held_max = job.held_max;
  options.batch_size = job.batch_size;
  options.held_wait_ms = job.held_wait_ms;
  if (!job.device.empty()) options.device = job.device.c_str();
  if (!job.transport.empty()) options.transport = job.transport.c_str();
  options.experimental_ready_early = job.ready_early ? 1 : 0;
  if (!job.fingerprint.empty()) options.fingerprint = job.fingerprint.c_str();
  if (!job.join.empty()) options.join = job.join.c_str();
  options.no_private_daemon = 1;
  return Loader(options);
}

namespace {

uint64_t digest(const void* bytes, size_t count, uint64_t hash) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * 0x100000001b3ull;
  return hash;
}

std::vector<int64_t> integers(const spdld_tensor& tensor, uint64_t valid) {
  std::vector<int64_t> values(valid);
  if (valid) std::memcpy(values.data(), tensor.address, valid * sizeof(int64_t));
  return values;
}

}  // namespace

Seen look(const Batch& batch) {
  batch.wait();
  const spdld_batch_info info = batch.info();
  Seen seen{info.epoch, info.step, info.valid, 0xcbf29ce484222325ull, {}, {}};
  const spdld_tensor image = batch["image"];
  size_t bytes = sizeof(float) * info.valid;  // what follows is undefined
  for (uint32_t i = 1; i < image.rank; i++) bytes *= static_cast<size_t>(image.shape[i]);
  seen.digest = digest(image.address, bytes, seen.digest);
  seen.ids = integers(batch["sample_id"], info.valid);
  seen.labels = integers(batch["label"], info.valid);
  return seen;
}

std::vector<Seen> take_all(Loader& loader, size_t batches_max) {
  std::vector<Seen> all;
  while (all.size() < batches_max) {
    const auto next = loader.next(20'000);
    if (next.result == SPDLD_END) break;
    if (next.result == SPDLD_END_OF_EPOCH) continue;
    if (next.result != SPDLD_OK) throw Exception(next.result, "no batch in time");
    all.push_back(look(next.batch));
  }
  return all;
}

pid_t in_child(const std::function<int()>& what) {
  const pid_t child = fork();
  if (child) return child;
  int code = 99;
  try {
    code = what();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "trainer %d: %s\n", getpid(), e.what());
  } catch (...) {  // Catch2's own, which must not take the child on to the other tests
    std::fprintf(stderr, "trainer %d: a requirement of the test failed\n", getpid());
  }
  _exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Pipe::Pipe() {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  reader_.reset(ends[0]);
  writer_.reset(ends[1]);
}

void Pipe::write(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(writer_.get(), text.data() + done, text.size() - done);
    if (count <= 0) _exit(98);
    done += static_cast<size_t>(count);
  }
}

bool Pipe::read_byte() {
  char byte = 0;
  return ::read(reader_.get(), &byte, 1) == 1;
}

std::string Pipe::read_line() {
  std::string line;
  for (char byte = 0; ::read(reader_.get(), &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

std::string Pipe::read_all() {
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(reader_.get(), bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<size_t>(count));
  return text;
}

pid_t hold_batches(const Job& job, size_t batches) {
  Pipe told;
  const pid_t holder = in_child([&] {
    Loader loader = attach(job);
    std::vector<Batch> held;
    while (held.size() < batches) held.push_back(loader.next(20'000).batch);
    told.write("x");
    for (;;) pause();
    return 0;
  });
  told.close_writer();
  REQUIRE(told.read_byte());
  return holder;
}

}  // namespace spdld::test
