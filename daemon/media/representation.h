// A form of a field's content from which its nodes start sooner than from the bytes as they were fetched: a picture's
// planes. The node's cache keeps samples in such a form. The medium that makes a form describes it here; the rooms
// above know forms by their text alone. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/media/workspace.h"

namespace spdld::media {

class Representation {
 public:
  virtual ~Representation() = default;

  virtual std::string_view name() const = 0;  // "planes"
  // Tells apart forms of one name that must not stand for one another, such as pictures that were turned and pictures
  // that were not. It follows the field's name in the name of the cache's shelf: empty, or a text such as " (not
  // turned)".
  virtual const std::string& way() const = 0;
  bool is_same(const Representation& other) const { return name() == other.name() && way() == other.way(); }

  // The bytes that the prepared form of this content takes, by the content's header; 0: it has no such form, or can't
  // be read.
  virtual uint64_t prepared_bytes(std::span<const uint8_t> content, Workspace& workspace) const = 0;
};

// Keeps what a node prepares. Lives as long as the sample is run; the thread that runs it.
class Keeper {
 public:
  virtual ~Keeper() = default;

  // Memory for the prepared form, to be written and then given to keep(); null: there is no room for it.
  virtual uint8_t* reserve(size_t bytes) = 0;
  // Whether keep() will take a form of so many bytes that lies in other memory.
  virtual bool takes(size_t bytes) = 0;
  // The form is complete. Precondition: reserve() gave `memory`, or takes() was true.
  virtual void keep(const uint8_t* memory, size_t bytes) = 0;
};

}  // namespace spdld::media
