// Parameters that several operations have, and the bounds that their numbers have in common. Pure functions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"

namespace spdld::config::ops {

inline constexpr double kSideMax = 16384;            // pixels
inline constexpr double kBytesMax = 1u << 20;        // of one sample's part of a tensor of bytes
inline constexpr double kRawElementsMax = 1u << 28;  // of a sample's raw values
inline constexpr double kWidthMax = 1u << 16;        // of an element of a list, in numbers

Parameter flag(std::string_view name, std::string_view help, bool fallback);
// `start` and `end`: the names of outputs that tell the part of a recording.
std::vector<Parameter> time_part();
inline constexpr std::array<std::string_view, 2> kTimePart = {"start", "end"};
// The numbers that an operation with these parameters asks for.
std::vector<Ask> time_part_asks();
// `layout`: how the tensor of a picture, or of the frames of a clip, lies.
Parameter picture_layout(std::string_view fallback);
Parameter choice(std::string_view name, std::string_view help, std::vector<std::string_view> choices,
                 std::string_view fallback);
// One number between two bounds.
Parameter number(std::string_view name, std::string_view help, double fallback, double min, double max);
// A list of one to `count_max` such numbers, and a list of two, each with the fallback of all.
Parameter numbers(std::string_view name, std::string_view help, double min, double max, int count_max,
                  std::vector<double> fallback);
Parameter number_pair(std::string_view name, std::string_view help, std::vector<double> fallback, double min,
                      double max);
// Of a picture: one or two numbers.
Parameter size(std::string_view help);
// `by_epoch`: other sizes from some epochs on; and the check of it. resized_by_epoch() gives the sizes to the picture.
Parameter by_epoch();
void check_by_epoch(OperationSpec& spec, const Complain& complain);
Signature resized_by_epoch(const OperationSpec& spec, const Signature& picture);
Parameter antialias();
// The filter of a resampling operation, and the check of it beside `antialias`: "bilinear" is left out of the spec.
Parameter filter();
void check_filter(OperationSpec& spec, const Complain& complain);
// `p`: the probability with which an operation is done.
Parameter probability(double fallback);
// The name of the random numbers that an operation takes.
Parameter draw();

// The place of the values in the field's bytes.
Parameter raw_offset();

// How many elements a list must have; 0: lists differ in length.
Parameter length();
// The first dimension of a list's tensor.
Dimension length_of(const OperationSpec& spec);

// Complains where the numbers of a range do not rise.
void check_range(const OperationSpec& spec, std::string_view name, const Complain& complain);
// Complains where `draw` is no word.
void check_draw(const OperationSpec& spec, const Complain& complain);

// A picture that is cut to the operation's `size`.
std::string bind_cut(const OperationSpec& spec, Signature& signature);
// The parameters of a vector that has an element for each class: `classes` and `dtype`.
Parameter classes();
Parameter class_dtype();

// Says that bytes which are the sample's name are no `wanted` ("a list"); empty: they are no name.
std::string why_not_read(const Signature& signature, std::string_view wanted);
// `number` for bytes that hold its digits; the error where they are the sample's name.
std::string bind_number(Signature& signature, Signature number);
// `list` for bytes that a follower of a view reads as a list; the error where they are the sample's name, or where the
// output follows nobody.
std::string bind_view_list(Signature& signature, Signature list);
// `masks` for a PNG that a follower of a view decodes; the error where the bytes are the sample's name or a value
// inside of JSON, or where the output follows nobody.
std::string bind_mask(Signature& signature, Signature masks);
// The tensor of an image in this type and order of dimensions; the error where the pictures' size is not fixed.
std::string bind_picture_tensor(const OperationSpec& spec, Signature& signature);

}  // namespace spdld::config::ops
