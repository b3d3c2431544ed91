// What filters and methods of texts have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/models/chat/template/run.h"
#include "weft/models/chat/template/value.h"

namespace weft::chat {

/// str.replace(): at most `most` times, from the front; all where it is negative.
Value replaced(Run& run, const TracedText& text, const TracedText& from, const TracedText& to,
               std::int64_t most);
/// str.splitlines().
std::vector<TracedText> lines_of(Run& run, const TracedText& text);
/// `items` as texts with `between` between them.
Value joined_texts(Run& run, const std::vector<Value>& items, const TracedText& between,
                   bool texts_only);
/// int(text, 10) and float(text).
std::optional<std::int64_t> read_integer(const TracedText& text);
std::optional<double> read_float(const TracedText& text);

}  // namespace weft::chat
