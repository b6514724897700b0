// A reader of a feed's batches: a trainer, through its session, or a Tap. Control thread only.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"
#include "daemon/delivery/ring.h"

namespace spdld::node {

class FeedReader : public delivery::Reader {
 public:
  virtual ~FeedReader() = default;
  // The feed gives no further batch. The reader may leave its seat within this call.
  virtual void on_failed(const Error& error) = 0;
  // A seek that was taken at first has failed; another seek may follow.
  virtual void on_seek_refused(uint32_t request, const Error& error) = 0;
  // Whether the reader has gone, even where the news of that is still on its way. The reader may leave its seat within
  // this call.
  virtual bool has_gone() const = 0;
};

}  // namespace spdld::node
