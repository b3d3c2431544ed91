// Questions about texts, with spans of the texts as answers, in the SQuAD file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An answer, which consists of the bytes [begin, begin + text.size()) of a context.
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
  /// The number of questions that have no answer in their context.
  std::int64_t unanswered() const;
  /// The context of a question.
  const std::string& context_of(const SquadQuestion& question) const {
    return contexts[question.context];
  }
  /// Returns all contexts, followed by all questions.
  std::vector<std::string> texts() const;
};

/// Reads JSON files in the format of SQuAD 1.1 or 2.0:
///
///     {"data": [{"paragraphs": [{"context": TEXT, "qas": [{"id": TEXT, "question": TEXT,
///       "answers": [{"text": TEXT, "answer_start": N}], "is_impossible": BOOL}]}]}]}
///
/// answer_start counts code points of the context. A question with is_impossible has no answers
/// ("answers" may be omitted); any other question has at least one. Further keys are ignored.
/// Throws IoError. Throws FormatError with file and location (such as
/// "data[0].paragraphs[2].qas[1].answers[0]") if the file has any other format. The message also
/// contains the question id if an answer is not at the given position or an id occurs twice. Throws
/// FormatError with the file name if a file has no questions.
SquadData read_squad(std::span<const std::string> paths);
/// Writes a file in the format of SQuAD 2.0, with contexts and questions in order. An existing file
/// is replaced atomically. Throws IoError.
void write_squad(const std::string& path, const SquadData& data);

/// Training data and held-out data.
struct SquadSplit {
  SquadData train, held_out;
};
/// Holds out round(fraction * n) of the n contexts, with their questions. If the fraction is not 0
/// and n is at least 2, at least one context is held out and at least one remains for training. The
/// contexts are selected at random with `seed`. The original order is kept in both parts. Contexts
/// without questions are dropped. Throws ArgumentError unless 0 <= fraction < 1.
SquadSplit split_contexts(const SquadData& all, double fraction, std::uint64_t seed);

}  // namespace weft
