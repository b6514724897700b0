// A listing whose samples have some further fields; each is chosen from several fields, as the sample has them.
// "jpg;jpeg;png" is a sample's jpg member; else its jpeg member; else its png member; else the sample lacks the field.
// The listing alone decides which member is taken, so that every run takes the same. Everything else is the same as in
// the inner listing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/source/listing.h"

namespace spdld::source {

// `wanted`: fields as config::FieldPath::field() writes them. A text adds nothing if it has a single name, or if its
// names are no fetched fields here. Gives `listing` itself where nothing is added.
std::unique_ptr<Listing> with_alternatives(std::unique_ptr<Listing> listing, std::span<const std::string> wanted);

// Whether the text is the name of this field, or has it among its alternatives.
bool is_among(std::string_view wanted, const std::string& field);

}  // namespace spdld::source
