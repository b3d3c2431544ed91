// Questions about texts, and the parts of these that answer them: files as SQuAD's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Bytes [begin, begin + text.size()) of a context.
struct SquadAnswer {
  std::string text;
  std::size_t begin = 0;
  friend bool operator==(const SquadAnswer&, const SquadAnswer&) = default;
};

/// A question about a text.
struct SquadQuestion {
  std::string id = {}, question = {};
  std::size_t context = 0;                // its number
  std::vector<SquadAnswer> answers = {};  // none: the context does not say
  friend bool operator==(const SquadQuestion&, const SquadQuestion&) = default;

  std::vector<std::string> answer_texts() const;
};

/// Texts with their questions.
struct SquadData {
  std::vector<std::string> contexts;
  std::vector<SquadQuestion> questions;

  std::int64_t size() const { return static_cast<std::int64_t>(questions.size()); }
  /// Questions that their contexts do not answer.
  std::int64_t unanswered() const;
  /// The text that a question is about.
  const std::string& context_of(const SquadQuestion& question) const {
    return contexts[question.context];
  }
  /// Every context, then every question.
  std::vector<std::string> texts() const;
};

/// Reads JSON files in the form of SQuAD 1.1 and 2.0:
///
///     {"data": [{"paragraphs": [{"context": TEXT, "qas": [{"id": TEXT, "question": TEXT,
///       "answers": [{"text": TEXT, "answer_start": N}], "is_impossible": BOOL}]}]}]}
///
/// answer_start counts code points of the context. A question that is_impossible has no answers
/// (they may be left out), every other one has one at least. Further keys are passed over. Throws
/// IoError; FormatError with file and place ("data[0].paragraphs[2].qas[1].answers[0]") for what
/// has another form, and with the question's id for an answer that does not stand where it says,
/// and for an id that there is twice; with the file's name for one without any question.
SquadData read_squad(std::span<const std::string> paths);
/// Writes such a file, of SQuAD 2.0's form: the contexts with their questions, in their order. A
/// file of this name is replaced as a whole. Throws IoError.
void write_squad(const std::string& path, const SquadData& data);

/// Texts to learn from, and those that validate.
struct SquadSplit {
  SquadData train, held_out;
};
/// round(fraction * n) of the n contexts are held out with their questions, one at least where the
/// fraction is not 0 and one is left to train on; chosen by `seed`, both parts in their old order.
/// Contexts without questions are left out. Throws ArgumentError unless 0 <= fraction < 1.
SquadSplit split_contexts(const SquadData& all, double fraction, std::uint64_t seed);

}  // namespace weft
