// Generates synthetic texts about people, with questions and answers, for experiments with
// extractive question answering that need no external data set.
#pragma once

#include <cstdint>

#include "weft/core/export.h"
#include "weft/models/data/formats/squad.h"

namespace WEFT_API weft {

/// Generates `count` texts with six sentences about three people. The facts are where a person
/// lives, their job, the year when they were born, and the animal that they keep. Each text
/// contains two of these facts per person, in random order and in one of several wordings. Every
/// text has four questions, also in several wordings. A question is about a fact ("Where does Mara
/// Lind live?") or about a person ("Who keeps a grey cat?"). The question determines the type of
/// the answer, but two or three spans of the text have this type, and only the person or fact in
/// the question identifies the correct span. The result is a function of (count, seed). Other seeds
/// combine the same words into different sentences. Throws ArgumentError if `count` is negative.
SquadData fact_questions(std::int64_t count, std::uint64_t seed);

}  // namespace weft
