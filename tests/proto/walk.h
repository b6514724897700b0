// Reads every field of a message of any type, as a receiver might. Returns a sum, so that nothing is optimised away.
#pragma once

#include <stdexcept>

#include "proto/message.h"

namespace spdld::test {

inline uint64_t sum_of(const flatbuffers::String* text) {
  uint64_t sum = 0;
  for (const char c : proto::text_of(text)) sum += static_cast<unsigned char>(c);
  return sum;
}
inline uint64_t sum_of(const proto::Position* position) { return position ? position->epoch() + position->step() : 0; }
template <typename T>
uint64_t sum_of(const flatbuffers::Vector<T>* numbers) {
  uint64_t sum = 0;
  if (numbers && numbers->size() > 0 && reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(T) != 0)
    throw std::logic_error("a vector's elements are not aligned");
  for (flatbuffers::uoffset_t i = 0; numbers && i < numbers->size(); ++i) sum += numbers->Get(i);
  return sum;
}
inline uint64_t sum_of(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
  uint64_t sum = 0;
  for (flatbuffers::uoffset_t i = 0; texts && i < texts->size(); ++i) sum += sum_of(texts->Get(i));
  return sum;
}

inline uint64_t sum_of(const proto::Hello& body) {
  return body.version_min() + body.version_max() + sum_of(body.client()) + static_cast<uint64_t>(body.pid()) +
         sum_of(body.capabilities());
}
inline uint64_t sum_of(const proto::Attach& body) {
  return body.request() + sum_of(body.pipeline()) + sum_of(body.spec()) + body.spec_in_fd() +
         static_cast<uint64_t>(body.spec_format()) + sum_of(body.spec_folder()) + sum_of(body.group()) + body.rank() +
         body.world_size() + body.local_rank() + body.reader() + body.readers() + sum_of(body.position()) +
         sum_of(body.fingerprint()) + body.held_max() + sum_of(body.key_digests()) + body.starts_crews();
}
inline uint64_t sum_of(const proto::Release& body) { return body.attachment() + body.slot() + body.generation(); }
inline uint64_t sum_of(const proto::Seek& body) { return body.attachment() + body.run() + sum_of(body.position()); }
inline uint64_t sum_of(const proto::Detach& body) {
  uint64_t sum = body.attachment();
  for (flatbuffers::uoffset_t i = 0; body.keeps() && i < body.keeps()->size(); ++i) {
    sum += body.keeps()->Get(i)->slot() + body.keeps()->Get(i)->generation();
  }
  return sum;
}
inline uint64_t sum_of(const proto::Push& body) {
  return body.attachment() + body.request() + sum_of(body.position()) + sum_of(body.sizes()) + sum_of(body.ids()) +
         body.last();
}
inline uint64_t sum_of(const proto::Query& body) {
  return body.request() + static_cast<uint64_t>(body.topic()) + sum_of(body.argument());
}
inline uint64_t sum_of(const proto::Welcome& body) {
  return body.version() + sum_of(body.daemon()) + sum_of(body.daemon_id()) + static_cast<uint64_t>(body.pid()) +
         sum_of(body.capabilities());
}
inline uint64_t sum_of(const proto::Preparing& body) {
  return body.request() + sum_of(body.what()) + body.done() + body.total();
}
inline uint64_t sum_of(const proto::Attached& body) {
  uint64_t sum = body.request() + body.attachment() + sum_of(body.pipeline()) + static_cast<uint64_t>(body.memory()) +
                 static_cast<uint64_t>(body.access()) + body.slot_count() + body.slot_bytes() + body.batch_size() +
                 body.global_size() + body.samples() + body.steps_per_epoch() + body.epochs() + body.seed() +
                 sum_of(body.position()) + sum_of(body.fingerprint()) + body.classes_in_fd() + body.push_steps_max() +
                 body.push_ids_max() + sum_of(body.sources()) + sum_of(body.missing()) + body.missing_count() +
                 sum_of(body.key_digests());
  for (flatbuffers::uoffset_t i = 0; body.outputs() && i < body.outputs()->size(); ++i) {
    const proto::OutputSchema* output = body.outputs()->Get(i);
    sum += sum_of(output->name()) + proto::bytes_of(output->dtype()) + sum_of(output->shape()) +
           static_cast<uint64_t>(output->role()) + sum_of(output->of()) + output->rows_max();
  }
  return sum;
}
inline uint64_t sum_of(const proto::Ready& body) {
  uint64_t sum = body.attachment() + body.run() + body.slot() + body.generation() + sum_of(body.position()) +
                 body.valid() + body.substituted() + body.masked() + body.padded() + sum_of(body.source_counts()) +
                 body.unsupported();
  for (flatbuffers::uoffset_t i = 0; body.bad() && i < body.bad()->size(); ++i) {
    const proto::BadReason* bad = body.bad()->Get(i);
    sum +=
        static_cast<uint64_t>(bad->kind()) + sum_of(bad->reason()) + bad->count() + bad->sample() + sum_of(bad->name());
  }
  if (body.range()) sum += body.range()->first() + body.range()->count();
  for (flatbuffers::uoffset_t i = 0; body.tensors() && i < body.tensors()->size(); ++i) {
    const proto::TensorDescriptor* tensor = body.tensors()->Get(i);
    sum += sum_of(tensor->name()) + proto::name_of(tensor->dtype()).size() + sum_of(tensor->shape()) +
           sum_of(tensor->strides()) + tensor->offset() + static_cast<uint64_t>(tensor->role()) + sum_of(tensor->of());
  }
  return sum;
}
inline uint64_t sum_of(const proto::Failed& body) {
  return body.attachment() + proto::name_of(body.code()).size() + sum_of(body.message());
}
inline uint64_t sum_of(const proto::ErrorReply& body) {
  return body.request() + proto::name_of(body.code()).size() + sum_of(body.message());
}
inline uint64_t sum_of(const proto::Answer& body) {
  return body.request() + sum_of(body.json()) + body.in_fd() + body.bytes();
}
inline uint64_t sum_of(const proto::Goodbye& body) { return sum_of(body.message()); }

inline uint64_t sum_of(const proto::JoinCrew& body) { return sum_of(body.token()); }
inline uint64_t sum_of(const proto::CrewProgress& body) { return sum_of(body.what()) + body.done() + body.total(); }
inline uint64_t sum_of(const proto::CrewReady&) { return 1; }
inline uint64_t sum_of(const proto::CrewFailed& body) { return sum_of(body.message()); }
inline uint64_t sum_of(const proto::WorkerEnded& body) { return body.worker() + sum_of(body.message()); }
inline uint64_t sum_of(const proto::CrewWanted& body) { return sum_of(body.token()); }
inline uint64_t sum_of(const proto::CrewJoined& body) {
  return sum_of(body.errands()) + body.scratch_bytes() + body.memory_max();
}
inline uint64_t sum_of(const proto::StartWorker& body) { return body.worker(); }
inline uint64_t sum_of(const proto::EndWorker& body) { return body.worker(); }

inline uint64_t sum_of(const proto::Message& message) {
  switch (message.body_type()) {
    case proto::Body::Hello:
      return sum_of(*message.body_as_Hello());
    case proto::Body::Attach:
      return sum_of(*message.body_as_Attach());
    case proto::Body::Release:
      return sum_of(*message.body_as_Release());
    case proto::Body::Seek:
      return sum_of(*message.body_as_Seek());
    case proto::Body::Detach:
      return sum_of(*message.body_as_Detach());
    case proto::Body::Push:
      return sum_of(*message.body_as_Push());
    case proto::Body::Query:
      return sum_of(*message.body_as_Query());
    case proto::Body::Welcome:
      return sum_of(*message.body_as_Welcome());
    case proto::Body::Preparing:
      return sum_of(*message.body_as_Preparing());
    case proto::Body::Attached:
      return sum_of(*message.body_as_Attached());
    case proto::Body::Ready:
      return sum_of(*message.body_as_Ready());
    case proto::Body::Failed:
      return sum_of(*message.body_as_Failed());
    case proto::Body::ErrorReply:
      return sum_of(*message.body_as_ErrorReply());
    case proto::Body::Answer:
      return sum_of(*message.body_as_Answer());
    case proto::Body::Goodbye:
      return sum_of(*message.body_as_Goodbye());
    case proto::Body::JoinCrew:
      return sum_of(*message.body_as_JoinCrew());
    case proto::Body::CrewProgress:
      return sum_of(*message.body_as_CrewProgress());
    case proto::Body::CrewReady:
      return sum_of(*message.body_as_CrewReady());
    case proto::Body::CrewFailed:
      return sum_of(*message.body_as_CrewFailed());
    case proto::Body::WorkerEnded:
      return sum_of(*message.body_as_WorkerEnded());
    case proto::Body::CrewWanted:
      return sum_of(*message.body_as_CrewWanted());
    case proto::Body::CrewJoined:
      return sum_of(*message.body_as_CrewJoined());
    case proto::Body::StartWorker:
      return sum_of(*message.body_as_StartWorker());
    case proto::Body::EndWorker:
      return sum_of(*message.body_as_EndWorker());
    case proto::Body::NONE:
      break;
  }
  return 0;
}

}  // namespace spdld::test
