// Made-up texts about people, with questions that they answer: what span answering can be tried on
// without anybody's data.
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/models/data/squad.h"

namespace WEFT_API weft {

/// `count` texts of six sentences about three people: where each lives, works, was born or what
/// animal each keeps, two of these about everyone, in any order and in several words. Of each text
/// four questions, in several words, too: a fact about a person ("Where does Mara Lind live?"), or
/// who it is that a fact is of ("Who keeps a grey cat?"). So the kind of answer follows from the
/// question, but of the two or three parts of the text that are of this kind the one to be found is
/// known by its person alone. A function of (count, seed); texts of other seeds have the same words
/// in other sentences. Throws ArgumentError for a negative count.
SquadData fact_questions(std::int64_t count, std::uint64_t seed);

}  // namespace weft
