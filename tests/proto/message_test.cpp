#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "tests/proto/walk.h"

namespace spdld::message_test {

using namespace spdld;
using flatbuffers::FlatBufferBuilder;

namespace {

using Bytes = std::vector<uint8_t>;

template <typename Make>
Bytes message_of(proto::Body type, Make&& make) {
  FlatBufferBuilder builder;
  const auto body = make(builder);
  const auto bytes = proto::finish(builder, type, body);
  return {bytes.begin(), bytes.end()};
}

Bytes ready_message() {
  return message_of(proto::Body::Ready, [](FlatBufferBuilder& builder) {
    const std::vector<uint64_t> shape = {64, 3, 224, 224}, strides = {150528, 50176, 224, 1};
    const auto image =
        proto::CreateTensorDescriptorDirect(builder, "image", proto::DType::float16, &shape, &strides, 512);
    const std::vector<uint64_t> count = {64};
    const auto id = proto::CreateTensorDescriptorDirect(builder, "sample_id", proto::DType::int64, &count);
    const std::vector<uint64_t> values = {1000, 4}, ends = {65};
    const auto boxes = proto::CreateTensorDescriptorDirect(builder, "boxes", proto::DType::float32, &values, nullptr,
                                                           4096, proto::Role::values);
    const auto offsets = proto::CreateTensorDescriptorDirect(builder, "boxes.offsets", proto::DType::int64, &ends,
                                                             nullptr, 8192, proto::Role::offsets, "boxes");
    const auto tensors = builder.CreateVector(std::vector{id, image, boxes, offsets});
    const auto position = proto::CreatePosition(builder, 3, 17);
    const proto::SampleRange range(1088, 64);
    return proto::CreateReady(builder, 5, 2, 1, 99, position, 63, tensors, &range, 4, 6, 3);
  });
}

// One of each type, with every field that has a size set.
void add_crew_messages(std::vector<Bytes>& messages) {
  using proto::Body;
  using Builder = FlatBufferBuilder;
  const auto add = [&](Body type, auto make) { messages.push_back(message_of(type, make)); };
  add(Body::JoinCrew, [](Builder& builder) { return proto::CreateJoinCrewDirect(builder, "0af3"); });
  add(Body::CrewProgress, [](Builder& builder) { return proto::CreateCrewProgressDirect(builder, "importing", 1, 2); });
  add(Body::CrewReady, [](Builder& builder) { return proto::CreateCrewReady(builder); });
  add(Body::CrewFailed, [](Builder& builder) { return proto::CreateCrewFailedDirect(builder, "why"); });
  add(Body::WorkerEnded, [](Builder& builder) { return proto::CreateWorkerEndedDirect(builder, 3, "how"); });
  add(Body::CrewWanted, [](Builder& builder) { return proto::CreateCrewWantedDirect(builder, "0af3"); });
  add(Body::CrewJoined, [](Builder& builder) { return proto::CreateCrewJoinedDirect(builder, "{}", 4096, 1); });
  add(Body::StartWorker, [](Builder& builder) { return proto::CreateStartWorker(builder, 3); });
  add(Body::EndWorker, [](Builder& builder) { return proto::CreateEndWorker(builder, 3); });
}

std::vector<Bytes> all_messages() {
  std::vector<Bytes> messages;
  messages.push_back(message_of(proto::Body::Hello, [](FlatBufferBuilder& builder) {
    const auto capabilities = builder.CreateVectorOfStrings({"a", "bc"});
    return proto::CreateHello(builder, 1, 2, builder.CreateString("client"), 77, capabilities);
  }));
  messages.push_back(message_of(proto::Body::Attach, [](FlatBufferBuilder& builder) {
    const auto position = proto::CreatePosition(builder, 1, 2);
    return proto::CreateAttachDirect(builder, 1, "p", "spec", true, proto::SpecFormat::json, "/f", "g", 1, 2, 1, 0, 1,
                                     position, "f1", 4, nullptr, nullptr, proto::Transport::automatic, false,
                                     proto::Join::now, 0, 0, false, "seed=AAAAAAAAAAA");
  }));
  messages.push_back(message_of(proto::Body::Release,
                                [](FlatBufferBuilder& builder) { return proto::CreateRelease(builder, 1, 2, 3); }));
  messages.push_back(message_of(proto::Body::Seek, [](FlatBufferBuilder& builder) {
    return proto::CreateSeek(builder, 1, 2, proto::CreatePosition(builder, 3, 4));
  }));
  messages.push_back(message_of(proto::Body::Detach, [](FlatBufferBuilder& builder) {
    const std::vector<proto::LeaseId> keeps = {{9, 1}, {10, 2}};
    return proto::CreateDetachDirect(builder, 1, &keeps);
  }));
  messages.push_back(message_of(proto::Body::Query, [](FlatBufferBuilder& builder) {
    return proto::CreateQueryDirect(builder, 1, proto::Topic::describe, "p");
  }));
  messages.push_back(message_of(proto::Body::Welcome, [](FlatBufferBuilder& builder) {
    return proto::CreateWelcomeDirect(builder, 1, "spdld", "id", 5);
  }));
  messages.push_back(message_of(proto::Body::Preparing, [](FlatBufferBuilder& builder) {
    return proto::CreatePreparingDirect(builder, 1, "listing", 5, 10);
  }));
  messages.push_back(message_of(proto::Body::Attached, [](FlatBufferBuilder& builder) {
    const std::vector<uint64_t> shape = {3, 224, 224};
    const auto output =
        proto::CreateOutputSchemaDirect(builder, "image", proto::DType::uint8, &shape, proto::Role::values, "of", 640);
    const auto outputs = builder.CreateVector(std::vector{output});
    const auto position = proto::CreatePosition(builder, 1, 2);
    const auto name = builder.CreateString("p"), fingerprint = builder.CreateString("f");
    const auto key_digests = builder.CreateString("seed=AAAAAAAAAAA");
    return proto::CreateAttached(builder, 1, 2, name, proto::MemoryKind::host, proto::Access::writable, 6, 1 << 20, 64,
                                 128, 1000, 8, 3, 17, position, fingerprint, outputs, false, 0, 0, false, 0, 0, false,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, key_digests);
  }));
  messages.push_back(ready_message());
  messages.push_back(message_of(proto::Body::Failed, [](FlatBufferBuilder& builder) {
    return proto::CreateFailedDirect(builder, 1, proto::ErrorCode::failed, "why");
  }));
  messages.push_back(message_of(proto::Body::ErrorReply, [](FlatBufferBuilder& builder) {
    return proto::CreateErrorReplyDirect(builder, 1, proto::ErrorCode::denied, "why");
  }));
  messages.push_back(message_of(proto::Body::Answer, [](FlatBufferBuilder& builder) {
    return proto::CreateAnswerDirect(builder, 1, "{}", false, 2);
  }));
  messages.push_back(message_of(proto::Body::Goodbye,
                                [](FlatBufferBuilder& builder) { return proto::CreateGoodbyeDirect(builder, "bye"); }));
  messages.push_back(message_of(proto::Body::Push, [](FlatBufferBuilder& builder) {
    const std::vector<uint32_t> sizes = {2, 1};
    const std::vector<uint64_t> ids = {7, 8, 7};
    const auto position = proto::CreatePosition(builder, 1, 2);
    return proto::CreatePushDirect(builder, 1, 5, position, &sizes, &ids, true);
  }));
  add_crew_messages(messages);
  return messages;
}

}  // namespace

TEST_CASE("a message of every type is read back") {
  const std::vector<Bytes> messages = all_messages();
  REQUIRE(messages.size() == static_cast<size_t>(proto::Body::MAX));
  for (size_t i = 0; i < messages.size(); ++i) {
    const proto::Message* message = proto::parse(messages[i]);
    REQUIRE(message);
    CHECK(static_cast<size_t>(message->body_type()) == i + 1);
    CHECK(test::sum_of(*message) > 0);
  }
}

TEST_CASE("a descriptor keeps every field") {
  const Bytes bytes = ready_message();
  const proto::Ready* ready = proto::parse(bytes)->body_as_Ready();
  REQUIRE(ready);
  CHECK(ready->attachment() == 5);
  CHECK(ready->run() == 2);
  CHECK(ready->slot() == 1);
  CHECK(ready->generation() == 99);
  CHECK(ready->position()->epoch() == 3);
  CHECK(ready->position()->step() == 17);
  CHECK(ready->valid() == 63);
  CHECK(ready->range()->first() == 1088);
  CHECK(ready->range()->count() == 64);
  CHECK(ready->substituted() == 4);
  CHECK(ready->masked() == 6);
  CHECK(ready->padded() == 3);
  const proto::TensorDescriptor* image = ready->tensors()->Get(1);
  CHECK(proto::text_of(image->name()) == "image");
  CHECK(image->dtype() == proto::DType::float16);
  CHECK(image->shape()->Get(3) == 224);
  CHECK(image->strides()->Get(0) == 150528);
  CHECK(image->offset() == 512);
  CHECK(image->role() == proto::Role::rows);
  CHECK(ready->tensors()->Get(2)->role() == proto::Role::values);
  CHECK(ready->tensors()->Get(3)->role() == proto::Role::offsets);
  CHECK(proto::text_of(ready->tensors()->Get(3)->of()) == "boxes");
}

TEST_CASE("what is no message is refused") {
  const Bytes good = ready_message();
  CHECK_FALSE(proto::parse({}));
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {  // no prefix of a message is one
    const Bytes cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(bytes));
    const proto::Message* message = proto::parse(cut);
    if (message) test::sum_of(*message);  // what is cut off may have been padding
    if (bytes < good.size() / 2) CHECK_FALSE(message);
  }
  Bytes other = good;
  other[4] = 'X';
  CHECK_FALSE(proto::parse(other));
  Bytes shifted(good.size() + 8);
  std::memcpy(shifted.data() + 1, good.data(), good.size());
  CHECK_FALSE(proto::parse({shifted.data() + 1, good.size()}));
  CHECK_FALSE(proto::parse(Bytes(proto::kMessageBytesMax + 8)));
}

TEST_CASE("a message without a body, or with one of a newer schema, is refused") {
  FlatBufferBuilder builder;
  builder.Finish(proto::CreateMessage(builder), proto::MessageIdentifier());
  CHECK_FALSE(proto::parse({builder.GetBufferPointer(), builder.GetSize()}));
  const Bytes newer =
      message_of(static_cast<proto::Body>(200), [](FlatBufferBuilder& other) { return proto::CreateGoodbye(other); });
  CHECK_FALSE(proto::parse(newer));
}

TEST_CASE("empty lists lie anywhere, and their messages are taken") {
  for (size_t bytes = 0; bytes < 8; ++bytes) {
    const Bytes detach = message_of(proto::Body::Detach, [&](FlatBufferBuilder& builder) {
      builder.CreateString(std::string(bytes, 'x'));  // moves what follows
      return proto::CreateDetach(builder, 1, builder.CreateVectorOfStructs(std::vector<proto::LeaseId>()));
    });
    CHECK(proto::parse(detach));
  }
}

TEST_CASE("10,000 mutated messages are refused or can be read to the last field") {
  const std::vector<Bytes> messages = all_messages();
  std::mt19937_64 random(20240501);
  int taken = 0, refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    Bytes bytes = messages[random() % messages.size()];
    const uint64_t changes = 1 + random() % 6;
    for (uint64_t k = 0; k < changes; ++k) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << (random() % 8)));
          break;
        case 2:
          bytes[at] = random() % 2 ? 0xff : 0;
          break;
        default:
          bytes.resize(1 + random() % (bytes.size() + 8));
          break;
      }
    }
    const proto::Message* message = proto::parse(bytes);
    message ? ++taken : ++refused;
    if (message) test::sum_of(*message);
  }
  CHECK(taken > 500);  // both ways were tried
  CHECK(refused > 500);
}

TEST_CASE("names and sizes of types and errors") {
  CHECK(proto::name_of(proto::ErrorCode::conflict) == "conflict");
  for (const proto::ErrorCode code : proto::EnumValuesErrorCode()) CHECK(proto::name_of(code) != "unknown");
  CHECK(proto::name_of(static_cast<proto::ErrorCode>(999)) == "unknown");
  CHECK(proto::name_of(proto::DType::bfloat16) == "bfloat16");
  CHECK(proto::name_of(proto::DType::bool_) == "bool");
  CHECK(proto::name_of(static_cast<proto::DType>(99)) == "unknown");
  const size_t bytes[] = {1, 4, 8, 2, 2, 4, 8, 1, 1, 2, 2, 4, 8, 8, 16};
  REQUIRE(std::size(bytes) == static_cast<size_t>(proto::DType::MAX) + 1);
  for (size_t i = 0; i < std::size(bytes); ++i) {
    INFO(i);
    CHECK(proto::bytes_of(static_cast<proto::DType>(i)) == bytes[i]);
    CHECK(proto::name_of(static_cast<proto::DType>(i)) != "unknown");
  }
  CHECK(proto::bytes_of(static_cast<proto::DType>(99)) == 0);
}

}  // namespace spdld::message_test
