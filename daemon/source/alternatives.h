// A listing whose samples have some fields more, each chosen from several by what the sample has. "jpg;jpeg;png"
// is a sample's jpg member; else its jpeg member; else its png member; else the sample lacks the field. The listing alone
// decides which member is taken, so that every run takes the same. Everything else is as the listing inside has it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "daemon/source/listing.h"

namespace spdld::source {

// `wanted`: fields as config::FieldPath::field() writes them. A text with a single name adds nothing, and neither does a
// text whose names are no fetched fields here. Gives `listing` itself where nothing is added.
std::unique_ptr<Listing> with_alternatives(std::unique_ptr<Listing> listing, std::span<const std::string> wanted);

}  // namespace spdld::source
