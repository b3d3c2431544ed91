// Synthetic texts about people with questions and answers, to try span answering without a data
// set.
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/models/data/squad.h"

namespace WEFT_API weft {

/// Generates `count` texts of six sentences about three people: where they live, what their job is,
/// when they were born or what animal they keep. Each text states two of these facts per person, in
/// random order and in one of several wordings. Every text has four questions, also in several
/// wordings: about a fact of a person ("Where does Mara Lind live?"), or about the person of a fact
/// ("Who keeps a grey cat?"). The question determines the kind of answer, but two or three spans of
/// the text are of that kind, and only the person or fact in the question identifies the right one.
/// The result is a function of (count, seed); other seeds combine the same words into other
/// sentences. Throws ArgumentError for a negative count.
SquadData fact_questions(std::int64_t count, std::uint64_t seed);

}  // namespace weft
