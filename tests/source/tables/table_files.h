// Files of each format of tables, by writers of the tests' own, and listings of them in a folder and in a store.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/formats/crc32c.h"
#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/memory_store.h"

namespace spdld::test {

inline std::string little_endian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

inline std::string masked_checksum(const std::string& of) {
  const uint32_t crc = crc32c({reinterpret_cast<const uint8_t*>(of.data()), of.size()});
  return little_endian(static_cast<uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8), 4);
}

// A field of protobuf's with a length.
inline std::string proto_field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) text += static_cast<char>(size | 0x80);
  return (text += static_cast<char>(size)) + bytes;
}

// A record of TFRecord with an example of features of bytes.
inline std::string tf_record(const std::map<std::string, std::string>& features) {
  std::string all;
  for (const auto& [name, bytes] : features)
    all += proto_field(1, proto_field(1, name) + proto_field(2, proto_field(1, proto_field(1, bytes))));
  const std::string message = proto_field(1, all), length = little_endian(message.size(), 8);
  return length + masked_checksum(length) + message + masked_checksum(message);
}

// A shard of MDS with one column "text" of strings.
inline std::string mds_shard(const std::vector<std::string>& texts) {
  std::string offsets, samples;
  const uint64_t head = 4 * (texts.size() + 2);
  for (const std::string& text : texts) {
    offsets += little_endian(head + samples.size(), 4);
    samples += little_endian(text.size(), 4) + text;
  }
  return little_endian(texts.size(), 4) + offsets + little_endian(head + samples.size(), 4) + samples;
}

inline std::string mds_index(const std::vector<std::pair<std::string, std::vector<std::string>>>& shards) {
  std::string all;
  for (const auto& [name, texts] : shards) {
    all += all.empty() ? "" : ",";
    all += R"({"column_names": ["text"], "column_encodings": ["str"], "column_sizes": [null], "compression": null, )"
           R"("format": "mds", "version": 2, "samples": )" +
           std::to_string(texts.size()) + R"(, "raw_data": {"basename": ")" + name + R"(", "bytes": )" +
           std::to_string(mds_shard(texts).size()) + "}}";
  }
  return R"({"version": 2, "shards": [)" + all + "]}";
}

// A .npy file of rows of two int32.
inline std::string npy_file(int rows) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 2), }";
  header.resize(117, ' ');
  std::string text = std::string("\x93NUMPY\x01\x00", 8) + little_endian(118, 2) + header + '\n';
  for (int i = 0; i < 2 * rows; ++i) text += little_endian(static_cast<uint64_t>(i * 7), 4);
  return text;
}

// A folder of tables, and the same files as objects below "set/".
struct TableFolder {
  TempFolder temp, kept;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::shared_ptr<store::Stores> stores = std::make_shared<OneStore>(store);
  std::map<std::string, std::string> files;

  void file(const std::string& name, const std::string& content) {
    temp.file(name, content);
    store->put("set/" + name, content);
    files[name] = content;
  }
  config::SourceSpec spec_of(const std::string& type, const std::string& uri,
                             const config::Parameters& parameters = {}) const {
    config::SourceSpec spec;
    spec.type = type;
    spec.uris = {uri};
    spec.parameters = parameters;
    spec.on_missing = config::OnMissing::kWarn;
    return spec;
  }
  std::unique_ptr<source::Listing> local(const std::string& type, const std::string& name,
                                         const config::Parameters& parameters = {}) const {
    return source::open_listing(spec_of(type, temp / name, parameters), {}, {}, {}, nullptr, {nullptr, stores});
  }
  std::unique_ptr<source::Listing> remote(const std::string& type, const std::string& name,
                                          const config::Parameters& parameters = {},
                                          source::KeptUse* use = nullptr) const {
    const config::SourceSpec spec = spec_of(type, "s3://bucket/set/" + name, parameters);
    return source::open_listing(spec, {}, {}, use == nullptr ? std::filesystem::path() : kept.path(), use,
                                {nullptr, stores});
  }
  Error refusal(const std::string& type, const std::string& name, const config::Parameters& parameters = {}) const {
    try {
      remote(type, name, parameters);
    } catch (const SetupError& error) {
      CHECK(std::string(error.what()).ends_with("."));
      return error.error();
    }
    return {Trouble::kInternal, "it was not refused"};
  }
};

// The bytes of these fields of a sample, fetched at once; else the error.
inline std::vector<std::string> contents(const source::Listing& listing, uint64_t sample,
                                         const std::vector<std::string>& fields) {
  source::LocalFetcher local(1);
  source::FetchRouter router(local);
  source::FetchRequest request = request_for(listing, sample, wanted(listing, fields));
  fetch_now(router, request);
  if (!request.ok) return {"bad: " + request.error.message};
  std::vector<std::string> all;
  for (size_t i = 0; i < fields.size(); ++i) all.push_back(text(request.bytes[i]));
  return all;
}

}  // namespace spdld::test
