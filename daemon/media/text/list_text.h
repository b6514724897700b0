// Lists of numbers as people and programs write them into files: decimal, in ASCII, with white space or one comma
// between two numbers. Pure functions; any thread.
#pragma once

#include <string_view>

#include "daemon/media/text/json/number_list.h"
#include "daemon/media/work_guard.h"

namespace spdld::text {

// Reads a text as a list. White space is a blank, a tab or the end of a line; NULs at the text's end are ignored.
//
// A list of numbers (width 0) may stand in one pair of brackets: "3 4 5", "3,4,5", "[3, 4, 5]". The rows of a list of
// rows stand each in a pair of brackets, and all of them may stand in another: "[1, 2], [3, 4]", "[[1 2] [3 4]]".
// Without brackets a row ends where its numbers are complete, and the end of a line must not part a row: "1 2\n3 4", "1
// 2 3 4". An empty text and "[]" are lists without elements.
//
// An error (kContent) is a clause that names the element and cites its text: "element [3]: 'cat' is no decimal number".
// The content of list.memory is undefined then.
// `guard`: is told of the numbers, some thousand at a time; null: nobody is.
Status read_list(std::string_view text, NumberList& list, media::WorkGuard* guard = nullptr);

}  // namespace spdld::text
