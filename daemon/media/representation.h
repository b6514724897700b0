// A form of a field's content from which its nodes start sooner than from the bytes as they were fetched: a picture's
// planes. The node's cache keeps samples in such a form. All knowledge about a form stands in its own class, in the
// folder of the medium that makes it: how large it is, how it is made, and how it is opened. The rooms above know a
// form by its id alone, and pass its bytes on. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/media/workspace.h"

namespace spdld::media {

class Representation {
 public:
  virtual ~Representation() = default;

  // Names everything that decides the form's bytes: the form and its version, the codec and its version, the way of
  // decoding ("planes 1, libjpeg-turbo 2.1.5, not turned"). Forms of one id may stand for one another, also from
  // another run of the daemon; the cache's shelves are told apart by it. One line; not empty.
  virtual const std::string& id() const = 0;

  // The bytes that the prepared form of this content takes, by the content's header, or an estimate where the header
  // does not tell; 0: it has no such form. None: the content can't be read.
  virtual std::optional<uint64_t> prepared_bytes(std::span<const uint8_t> content, Workspace& workspace) const = 0;

  // The CPU time that a sample takes from this form, as a part of the time that it takes from its bytes: a rough figure
  // from the benchmarks in docs/figures.md, by which the daemon chooses a form itself. 1: it never chooses this one.
  virtual double cost() const = 0;
};

// Keeps what a node prepares of a field's content. Lives as long as the sample is run; the thread that runs it.
class Keeper {
 public:
  virtual ~Keeper() = default;

  // Memory for the prepared form, to be written and then given to keep(); null: there is no room for it. Such content
  // is not kept as it was fetched either: the room that is left is smaller than one form, and is for smaller forms.
  virtual uint8_t* reserve(size_t bytes) = 0;
  // Whether there may be room for a form of about `bytes`, asked where its size is known only when it is made.
  virtual bool may_keep(size_t bytes) = 0;
  // Whether keep() will take a form of `bytes` that lies in other memory.
  virtual bool takes(size_t bytes) = 0;
  // The form is complete. Precondition: reserve() gave `memory`, or takes() was true.
  virtual void keep(const uint8_t* memory, size_t bytes) = 0;
  // This content is sound and has no prepared form: keeps a copy of it as it was fetched.
  virtual void keep_as_fetched(std::span<const uint8_t> content) = 0;
};

}  // namespace spdld::media
