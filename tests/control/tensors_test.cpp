// Ragged and padded batches: what ATTACHED and READY say.
#include <catch2/catch.hpp>

#include "tests/control/noting.h"
#include "tests/control/raw_client.h"

namespace spdld::tensors_test {

using namespace spdld;
using batch::Role;
using config::DType;
using test::Notes;
using test::NotingAttachment;
using test::OneRing;
using test::RawClient;
using test::Served;

namespace {

using Tensors = std::vector<batch::TensorPlace>;

const Tensors kRagged = {{"boxes", DType::kFloat32, {4}, 3 * 16, 0, Role::kValues},
                         {"boxes.offsets", DType::kInt64, {}, 8, 0, Role::kOffsets, 0}};
const Tensors kPadded = {{"text", DType::kInt64, {7}, 56, 0, Role::kRows, {}, batch::Padding{}},
                         {"text.lengths", DType::kInt32, {}, 4, 0, Role::kLengths, 0},
                         {"text.mask", DType::kUint8, {7}, 7, 0, Role::kMask, 0}};

// A server whose pipelines have these tensors. The ring's slot lies here.
struct Pipeline {
  explicit Pipeline(const Tensors& tensors) {
    ring.layout = batch::Layout(tensors, 4, 1 << 20);
    test::attach_all(served, ring, notes, &reply);
    slot.memory = std::make_unique<memory::HostSlot>(8192, memory::Access::kWritable);
  }
  // Sends a batch of `valid` samples with these lengths.
  void send(uint64_t valid, const std::vector<uint32_t>& lengths) {
    served.on_control([&] {
      batch::clear(ring.layout, slot.contents);
      std::copy(lengths.begin(), lengths.end(), slot.contents.lengths.begin());
      batch::pack(ring.layout, slot.contents, slot.memory->fill_address(), valid);
      batch::Batch batch;
      batch.slot = &slot;
      batch.slice = {0, valid, 0};
      reply->reader().on_ready(batch, 1, 0);
    });
  }
  OneRing ring;
  Notes notes;
  std::shared_ptr<control::AttachReply> reply;
  Served served;
  batch::Slot slot;
};

std::vector<uint64_t> numbers(const flatbuffers::Vector<uint64_t>* vector) {
  return vector ? std::vector<uint64_t>(vector->begin(), vector->end()) : std::vector<uint64_t>{};
}

}  // namespace

TEST_CASE("ATTACHED tells the plan of a ragged output, and READY what a batch has of it") {
  Pipeline pipeline(kRagged);
  RawClient client(pipeline.served.path());
  client.hello();
  client.send_attach(1, "p");
  const auto heard = client.hear();
  REQUIRE(heard);
  const auto* attached = heard->message().body_as_Attached();
  REQUIRE(attached);
  const proto::OutputSchema& values = *attached->outputs()->Get(0);
  CHECK(values.role() == proto::Role::values);
  CHECK(values.rows_max() == 12);
  CHECK(numbers(values.shape()) == std::vector<uint64_t>{4});
  const proto::OutputSchema& offsets = *attached->outputs()->Get(1);
  CHECK(offsets.role() == proto::Role::offsets);
  CHECK(proto::text_of(offsets.of()) == "boxes");
  CHECK(offsets.rows_max() == 0);

  pipeline.send(3, {2, 0, 3});
  const auto batch = client.hear();
  REQUIRE(batch);
  const auto* ready = batch->message().body_as_Ready();
  REQUIRE(ready);
  CHECK(ready->valid() == 3);
  CHECK(ready->tensors()->Get(0)->role() == proto::Role::values);
  CHECK(numbers(ready->tensors()->Get(0)->shape()) == std::vector<uint64_t>{5, 4});
  CHECK(ready->tensors()->Get(0)->strides() == nullptr);
  CHECK(proto::text_of(ready->tensors()->Get(1)->of()) == "boxes");
  CHECK(numbers(ready->tensors()->Get(1)->shape()) == std::vector<uint64_t>{5});
}

TEST_CASE("READY tells the shape of a padded output, and its strides where it is not dense") {
  Pipeline pipeline(kPadded);
  RawClient client(pipeline.served.path());
  client.hello();
  CHECK(test::attach(client) > 0);
  const auto shapes = [&] {
    const auto batch = client.hear();
    REQUIRE(batch);
    const auto* ready = batch->message().body_as_Ready();
    REQUIRE(ready);
    const auto* text = ready->tensors()->Get(0);
    CHECK(numbers(ready->tensors()->Get(2)->shape()) == numbers(text->shape()));
    return std::pair(numbers(text->shape()), numbers(text->strides()));
  };
  pipeline.send(4, {2, 0, 3, 1});
  CHECK(shapes() == std::pair(std::vector<uint64_t>{4, 3}, std::vector<uint64_t>{}));
  pipeline.served.on_control([&] {
    batch::set_views(pipeline.ring.layout, pipeline.slot.contents, 4, false);
    batch::Batch batch;
    batch.slot = &pipeline.slot;
    batch.slice = {0, 4, 0};
    pipeline.reply->reader().on_ready(batch, 2, 0);
  });
  CHECK(shapes() == std::pair(std::vector<uint64_t>{4, 3}, std::vector<uint64_t>{7, 1}));
}

TEST_CASE("READY of outputs of a fixed shape says whole, dense rows") {
  Pipeline pipeline({{"image", DType::kUint8, {2, 3}, 6, 0}});
  RawClient client(pipeline.served.path());
  client.hello();
  CHECK(test::attach(client) > 0);
  pipeline.send(3, {});
  const auto batch = client.hear();
  REQUIRE(batch);
  const auto* ready = batch->message().body_as_Ready();
  REQUIRE(ready);
  const proto::TensorDescriptor& image = *ready->tensors()->Get(0);
  CHECK(numbers(image.shape()) == std::vector<uint64_t>{4, 2, 3});
  CHECK(image.strides() == nullptr);
  CHECK(image.of() == nullptr);
  CHECK_FALSE(image.role() != proto::Role::rows);
}

}  // namespace spdld::tensors_test
