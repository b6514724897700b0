#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/memory/cuda/transfer.h"
#include "tests/memory/gpus_fixture.h"

namespace spdld::memory::copies_test {
namespace {

using test::FakeCuda;
using test::FakeCudaOptions;
using test::fill;
using test::in_child;
using test::is_clean;
using test::kMiB;
using test::make_ring;
using test::ring_of;

const std::vector<std::string> kNone;

TEST_CASE("what is published is what another process sees, by both transports") {
  for (const Transport transport : {Transport::kHandle, Transport::kFd}) {
    FakeCuda fake;
    test::Links links;
    test::Child reader(fake, [&] { test::Reader::serve(links.other); });
    CHECK(in_child(fake, [&] {
            test::Reader other(links.one);
            Gpus gpus({});
            const SlotMemories ring = make_ring(gpus, ring_of(3, 3 * kMiB + 77, transport));
            for (const auto& slot : ring) EXPECT(other.sees(*slot, 0));
            for (uint8_t round = 1; round < 12; ++round) {
              SlotMemory& slot = *ring[round % 3];
              EXPECT(fill(slot, round));
              EXPECT(slot.fill_address() == nullptr);
              EXPECT(other.sees(slot, round));
            }
            other.dismiss();
          }) == "");
    CHECK(reader.outcome() == "");
    CHECK(fake.violations() == kNone);
    CHECK(is_clean(fake.live()));
  }
}

TEST_CASE("what counts of a slot is copied to the GPU, and nothing else") {
  for (const Transport transport : {Transport::kHandle, Transport::kFd}) {
    FakeCuda fake;
    CHECK(in_child(fake, [transport] {
            Gpus gpus({});
            const SlotMemories ring = make_ring(gpus, ring_of(1, 3 * kMiB, transport));
            SlotMemory& slot = *ring[0];
            EXPECT(fill(slot, 1));
            const uint64_t copied = gpus.report().gpus[0].copied_bytes;
            EXPECT(copied == slot.bytes());
            for (const std::vector<Range>& counts :
                 {std::vector<Range>{{128, 100}, {2 * kMiB, kMiB}}, std::vector<Range>{{0, 1}}, std::vector<Range>{}}) {
              const uint64_t before = gpus.report().gpus[0].copied_bytes;
              EXPECT(test::begin(slot));
              test::Signal published;
              slot.publish(counts, [&](const Status& status) {
                EXPECT(bool(status));
                published.raise();
              });
              published.wait(1);
              uint64_t wanted = 0;
              for (const Range& range : counts) wanted += range.bytes;
              EXPECT(gpus.report().gpus[0].copied_bytes - before == wanted);
            }
          }) == "");
    CHECK(fake.violations() == kNone);
  }
}

TEST_CASE("parts of another slot and bytes of this process make a slot on the GPU") {
  FakeCuda fake;
  test::Links links;
  test::Child reader(fake, [&] { test::Reader::serve(links.other); });
  CHECK(in_child(fake, [&] {
          test::Reader other(links.one);
          Gpus gpus({});
          const SlotMemories ring = make_ring(gpus, ring_of(2, kMiB));
          EXPECT(fill(*ring[0], 5));
          std::vector<uint8_t> middle;  // what the other slot has there
          for (uint64_t at = 1000; at < 5000; ++at) middle.push_back(test::pattern(5, at));
          const std::vector<SlotMemory::CopiedRange> parts = {{0, 0, 1000}, {5000, 5000, ring[0]->bytes() - 5000}};
          const std::vector<SlotMemory::Literal> literals = {{1000, middle}};
          test::Signal done;
          ring[1]->copy(*ring[0], {parts, literals}, [&](const Status& status) {
            EXPECT(bool(status));
            done.raise();
          });
          done.wait(1);
          test::publish(*ring[1], [&](const Status& status) {
            EXPECT(bool(status));
            done.raise();
          });
          done.wait(2);
          EXPECT(other.sees(*ring[1], 5));
          other.dismiss();
        }) == "");
  CHECK(reader.outcome() == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("batches of a ring are published in order, also where none waits for another") {
  for (const bool early : {false, true}) {
    FakeCuda fake;
    CHECK(in_child(fake, [early] {
            Gpus gpus({});
            DeviceRing wanted = ring_of(6, kMiB, Transport::kHandle);
            wanted.ready_early = early;
            const SlotMemories ring = make_ring(gpus, wanted);
            std::vector<size_t> order;
            test::Signal published;
            for (const auto& slot : ring) EXPECT(test::begin(*slot));
            for (const size_t index : {3, 1, 5, 0, 2, 4})
              test::publish(*ring[index], [&, index](const Status& status) {
                EXPECT(bool(status));
                order.push_back(index);
                published.raise();
              });
            published.wait(6);
            EXPECT((order == std::vector<size_t>{3, 1, 5, 0, 2, 4}));
          }) == "");
    CHECK(fake.violations() == kNone);
  }
}

TEST_CASE("a copy that can't be issued is answered before the copies behind it, also where they are ready early") {
  FakeCudaOptions options;
  options.copy_us = 50'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus gpus({});
          DeviceRing wanted = ring_of(4, kMiB, Transport::kHandle);
          wanted.ready_early = true;
          const SlotMemories ring = make_ring(gpus, wanted);
          std::vector<std::pair<size_t, bool>> answers;
          test::Signal answered;
          for (const auto& slot : ring) EXPECT(test::begin(*slot));
          fake.inject("cuMemcpyHtoDAsync", cuda::abi::kInvalidValue, 2);
          for (size_t index = 0; index < ring.size(); ++index)
            test::publish(*ring[index], [&, index](const Status& status) {
              answers.emplace_back(index, bool(status));
              answered.raise();
            });
          answered.wait(ring.size());
          EXPECT((answers == std::vector<std::pair<size_t, bool>>{{0, true}, {1, false}, {2, true}, {3, true}}));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a batch that is ready early comes with the event to wait on, and its staging waits for that, too") {
  FakeCudaOptions options;
  options.copy_us = 100'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          Gpus gpus({});
          DeviceRing wanted = ring_of(2, kMiB, Transport::kHandle);
          EXPECT(make_ring(gpus, wanted)[0]->shared().copied.empty());
          wanted.ready_early = true;
          const SlotMemories ring = make_ring(gpus, wanted);
          EXPECT(ring[0]->shared().copied.size() == 64);
          EXPECT(fill(*ring[0], 1));
          EXPECT(gpus.report().gpus[0].staging_used_bytes == 2 * kMiB);
          EXPECT(gpus.report().gpus[0].copies == 0);
          EXPECT(test::becomes_true([&] { return gpus.report().gpus[0].staging_used_bytes == 0; }));
          EXPECT(gpus.report().gpus[0].copies == 1);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("with descriptors no batch is ready early: an event's handle would need what they do without") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Gpus gpus({});
          DeviceRing wanted = ring_of(2, kMiB, Transport::kFd);
          wanted.ready_early = true;
          const SlotMemories ring = make_ring(gpus, wanted);
          EXPECT(ring[0]->kind() == MemoryKind::kCudaVmm && ring[0]->shared().copied.empty());
          EXPECT(fill(*ring[0], 1));
          EXPECT(gpus.report().gpus[0].copies == 1);  // done before it was published
          EXPECT(fake.calls("cuIpcGetEventHandle") == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("the next copy is issued while the last one is under way") {
  FakeCudaOptions options;
  options.copy_us = 20'000'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          const cuda::ContextRef context = cuda::Context::retain(cuda::Driver::get().devices().at(0));
          const auto staging = std::make_shared<Staging>(context, 4 * kMiB, [] {});
          Staging::User user(staging, {2 * kMiB, 0});
          staging->ensure({2 * kMiB, 0});
          const auto memory = std::make_shared<cuda::HandleMemory>(context, 2 * kMiB);
          cuda::Event first(context, cuda::Event::Reach::kProcess), second(context, cuda::Event::Reach::kProcess);
          const auto transfer = Transfer::start(context, staging, [](cuda::abi::Result, const std::string&) {});
          Copy copy;
          copy.copied = &first, copy.keep = memory;
          copy.staging = std::move(*user.take(&user, [] {}));
          copy.host_ranges.push_back({copy.staging->address(), memory->address(), kMiB});
          transfer->put(std::move(copy));
          EXPECT(test::becomes_true([&] { return fake.calls("cuEventSynchronize") == 1; }));
          Copy next;
          next.device_ranges.push_back({memory->address(), memory->address() + kMiB, kMiB});
          next.copied = &second, next.keep = memory;
          transfer->put(std::move(next));
          EXPECT(test::becomes_true([&] { return fake.calls("cuEventRecord") == 2; }));
          EXPECT(transfer->copies().value() == 0);
          EXPECT(!transfer->end({Trouble::kStopping, "the end"}, 50));
          EXPECT(transfer->keep_if_given_up(memory));
        }) == "");
}

TEST_CASE("rings of several sizes share little staging memory, and each comes forward") {
  FakeCudaOptions options;
  options.copy_us = 50;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.staging_bytes_max = 6 * kMiB;
          Gpus gpus(settings);
          std::vector<std::thread> trainers;
          std::atomic<int> done{0};
          std::vector<SlotMemories> rings;
          for (const uint64_t bytes : {kMiB, 2 * kMiB, 3 * kMiB, 6 * kMiB})
            rings.push_back(make_ring(gpus, ring_of(2, bytes)));
          for (SlotMemories& ring : rings)
            trainers.emplace_back([&ring, &done] {
              try {
                for (size_t batch = 0; batch < 12; ++batch)
                  if (fill(*ring[batch % 2], 5)) done++;
              } catch (const std::exception&) {  // it hangs: `done` tells
              }
            });
          for (std::thread& trainer : trainers) trainer.join();
          EXPECT(done == 48);
          EXPECT(gpus.report().gpus[0].staging_bytes <= 6 * kMiB);
          EXPECT(gpus.report().gpus[0].staging_used_bytes == 0);
          EXPECT(gpus.report().gpus[0].copies == 48);
          rings.clear();
          gpus.stop();
          EXPECT(is_clean(fake.live(getpid())));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a slot may go while its copy is under way, or while it is filled or waits") {
  FakeCudaOptions options;
  options.copy_us = 50'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.staging_bytes_max = 4 * kMiB;
          settings.idle_ms = 0;
          Gpus gpus(settings);
          SlotMemories ring = make_ring(gpus, ring_of(3, 2 * kMiB));
          test::Signal published, room;
          EXPECT(test::begin(*ring[0]));
          EXPECT(test::begin(*ring[1]));
          const Result<bool> begun = ring[2]->begin_fill([&] { room.raise(); });
          EXPECT(begun && !*begun);
          test::publish(*ring[0], [&](const Status& status) {
            EXPECT(bool(status));
            published.raise();
          });
          ring.pop_back();
          ring.clear();
          published.wait(1);
          EXPECT(test::becomes_true([&] { return is_clean(fake.live(getpid())); }));
          EXPECT(room.count() == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

// Rings come and go, batches are published, abandoned and looked at, from many threads: for ThreadSanitizer.
TEST_CASE("many threads at once") {
  FakeCudaOptions options;
  options.copy_us = 20;
  options.devices = 2;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.staging_bytes_max = 4 * kMiB;
          settings.idle_ms = 1;
          Gpus gpus(settings);
          std::atomic<bool> is_over{false};
          std::atomic<int> filled{0};
          std::thread looker([&] {
            for (; !is_over; std::this_thread::yield()) gpus.report();
          });
          const auto train = [&](unsigned number) {
            for (unsigned life = 0; life < 4; ++life) {
              DeviceRing wanted = ring_of(2, (1 + number % 2) * 2 * kMiB);
              wanted.gpu = test::uuid_of(number % 2);
              wanted.transport = life % 2 ? Transport::kHandle : Transport::kFd;
              wanted.ready_early = life % 3 == 0;
              wanted.owner = number / 3;
              const SlotMemories ring = make_ring(gpus, wanted);
              for (unsigned batch = 0; batch < 6; ++batch) {
                SlotMemory& slot = *ring[batch % 2];
                if (batch % 3 == 2 && test::begin(slot)) slot.abandon();
                if (fill(slot, static_cast<uint8_t>(number))) filled++;
                if (slot.trouble()) throw std::runtime_error(slot.trouble()->message);
              }
            }
          };
          std::vector<std::thread> trainers;
          for (unsigned number = 0; number < 4; ++number)
            trainers.emplace_back([&train, number] {
              try {
                train(number);
              } catch (const std::exception&) {  // `filled` tells
              }
            });
          for (std::thread& trainer : trainers) trainer.join();
          is_over = true;
          looker.join();
          EXPECT(filled == 4 * 4 * 6);
          gpus.stop();
          EXPECT(is_clean(fake.live(getpid())));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a driver that does not come back is given up, and what it may still use is kept") {
  FakeCudaOptions options;
  options.copy_us = 2'000'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          const cuda::ContextRef context = cuda::Context::retain(cuda::Driver::get().devices().at(0));
          const auto staging = std::make_shared<Staging>(context, 4 * kMiB, [] {});
          Staging::User user(staging, {2 * kMiB, 0});
          staging->ensure({2 * kMiB, 0});
          const auto memory = std::make_shared<cuda::HandleMemory>(context, 2 * kMiB);
          cuda::Event copied(context, cuda::Event::Reach::kProcess);
          const auto transfer = Transfer::start(context, staging, [](cuda::abi::Result, const std::string&) {});
          test::Signal answered;
          Copy copy;
          copy.copied = &copied, copy.keep = memory;
          copy.staging = std::move(*user.take(&user, [] {}));
          copy.host_ranges.push_back({copy.staging->address(), memory->address(), kMiB});
          copy.published = [&](const Status& status) {
            EXPECT(!status && status.error().message == "the end");
            answered.raise();
          };
          transfer->put(std::move(copy));
          EXPECT(test::becomes_true([&] { return fake.calls("cuEventSynchronize") == 1; }));
          EXPECT(!transfer->end({Trouble::kStopping, "the end"}, 50));
          EXPECT(answered.count() == 1);
          EXPECT(transfer->keep_if_given_up(memory));
          EXPECT(!transfer->end({Trouble::kStopping, "the end"}, 50));
          EXPECT(answered.count() == 1);
          EXPECT(staging->levels().used_bytes == 2 * kMiB);
        }) == "");
}

}  // namespace
}  // namespace spdld::memory::copies_test
