// Questions about texts that are answered by spans of the texts, in the file format of SQuAD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An answer: bytes [begin, begin + text.size()) of a context.
struct SquadAnswer {
  std::string text;
  std::size_t begin = 0;
  friend bool operator==(const SquadAnswer&, const SquadAnswer&) = default;
};

/// A question about a context.
struct SquadQuestion {
  std::string id = {}, question = {};
  std::size_t context = 0;                // index of its context
  std::vector<SquadAnswer> answers = {};  // empty if the context does not answer it
  friend bool operator==(const SquadQuestion&, const SquadQuestion&) = default;

  std::vector<std::string> answer_texts() const;
};

/// Contexts with their questions.
struct SquadData {
  std::vector<std::string> contexts;
  std::vector<SquadQuestion> questions;

  std::int64_t size() const { return static_cast<std::int64_t>(questions.size()); }
  /// The number of questions without an answer in their context.
  std::int64_t unanswered() const;
  /// The context of a question.
  const std::string& context_of(const SquadQuestion& question) const {
    return contexts[question.context];
  }
  /// Returns all contexts, then all questions.
  std::vector<std::string> texts() const;
};

/// Reads JSON files in the form of SQuAD 1.1 and 2.0:
///
///     {"data": [{"paragraphs": [{"context": TEXT, "qas": [{"id": TEXT, "question": TEXT,
///       "answers": [{"text": TEXT, "answer_start": N}], "is_impossible": BOOL}]}]}]}
///
/// answer_start counts code points of the context. A question with is_impossible has no answers
/// ("answers" may be omitted); any other question has at least one. Further keys are ignored.
/// Throws IoError; FormatError with file and location ("data[0].paragraphs[2].qas[1].answers[0]")
/// for any other form, with the question's id if an answer is not at the given position or an id
/// occurs twice, and with the file's name if it has no questions.
SquadData read_squad(std::span<const std::string> paths);
/// Writes a file in the form of SQuAD 2.0, with contexts and questions in their order. An existing
/// file is replaced atomically. Throws IoError.
void write_squad(const std::string& path, const SquadData& data);

/// Training data and held-out data.
struct SquadSplit {
  SquadData train, held_out;
};
/// Holds out round(fraction * n) of the n contexts with their questions; at least one if the
/// fraction is not 0 and another one remains for training. The contexts are selected by `seed`, and
/// both parts keep the original order. Contexts without questions are dropped. Throws ArgumentError
/// unless 0 <= fraction < 1.
SquadSplit split_contexts(const SquadData& all, double fraction, std::uint64_t seed);

}  // namespace weft
