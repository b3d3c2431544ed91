// How likely a model finds given texts: log-probabilities of every id, from one forward pass.
#pragma once

#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Natural logarithms of the probabilities of a continuation's ids, each given all before it.
struct ContinuationScore {
  std::vector<double> log_probabilities;

  double total() const;
  /// exp(-total / ids).
  double perplexity() const;
};

/// The program "score" of a decoder over `tokens` and `targets`, integers [batch, seq] and inputs
/// of its graph: output "losses" [batch, seq], the negative log-probability of every target after
/// the tokens up to its place; 0 for targets of -100.
Program make_score_program(const Gpt& gpt, Value tokens, Value targets,
                           SourceLocation loc = SourceLocation::current());
/// The same of an encoder-decoder, over inputs "prompt_ids" and "prompt_mask" [prompts, source],
/// "decoder_ids" and "targets" [prompts, target], all i64.
Program make_score_program(const EncoderDecoder& net,
                           SourceLocation loc = SourceLocation::current());

/// Scores continuations[i] after prompts[i] (whose ids are not scored), all in one batch; a row is
/// as if it were alone. The program's inputs must be called "tokens" and "targets". ArgumentError
/// for an empty prompt or continuation and for more ids than learned positions.
std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const GptConfig& config, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations);
/// Scores continuations[i] as output for prompts[i], behind `start`: what the decoder starts from.
std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const TokenIds& start, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations);

}  // namespace weft
