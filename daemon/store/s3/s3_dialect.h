// A bucket of an S3-compatible store, in the words of S3's REST interface. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/store/credentials/keeper.h"
#include "daemon/store/http/dialect.h"
#include "daemon/store/s3/address.h"

namespace spdld::store::s3 {

struct Bucket {
  std::string name;    // as uris have it
  std::string region;  // that requests are signed for
  BucketAddress address;
};

using UnixSeconds = std::function<int64_t()>;

// `credentials`: null: requests are not signed. `now_s`: the time that they are signed with; none: the machine's.
std::shared_ptr<http::Dialect> make_s3_dialect(Bucket bucket, std::shared_ptr<CredentialsKeeper> credentials,
                                               UnixSeconds now_s = {});

}  // namespace spdld::store::s3
