// Scores given texts: computes the log-probabilities of all their ids in one forward pass.
#pragma once

#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Natural log-probabilities of the ids of a continuation, each conditioned on all previous ids.
struct ContinuationScore {
  std::vector<double> log_probabilities;

  /// Returns the sum of the log-probabilities.
  double total() const;
  /// Returns exp(-total / number of ids).
  double perplexity() const;
};

/// Returns the program "score" of a decoder. `tokens` and `targets` are integer inputs [batch, seq]
/// of its graph. The output "losses" [batch, seq] is the negative log-probability of each target
/// given the tokens up to its position, and 0 for targets equal to -100.
Program make_score_program(const Gpt& gpt, Value tokens, Value targets,
                           SourceLocation loc = SourceLocation::current());
/// As above, for an encoder-decoder with the inputs "prompt_ids" and "prompt_mask" [prompts,
/// source], "decoder_ids" and "targets" [prompts, target], all i64.
Program make_score_program(const EncoderDecoder& net,
                           SourceLocation loc = SourceLocation::current());

/// Throws ArgumentError if there is not one continuation per prompt, if one of them is empty, or if
/// a row has more ids than there are learned positions.
void check_scored_rows(const GptConfig& config, const std::vector<TokenIds>& prompts,
                       const std::vector<TokenIds>& continuations);

/// Scores continuations[i] after prompts[i], all in one batch. Prompt ids are not scored, and each
/// result is the same as if its row were scored alone. The program's inputs must be named "tokens"
/// and "targets". Throws the same exceptions as check_scored_rows().
std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const GptConfig& config, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations);
/// Scores continuations[i] as the output for prompts[i]. `start` contains the ids that the decoder
/// starts from.
std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const TokenIds& start, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations);

}  // namespace weft
