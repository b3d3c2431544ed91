// Model descriptions that both encoder-decoder tasks print.
#pragma once

#include <set>
#include <string>

#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// Config fields that are not command-line options, because the tokenizer determines them or they
/// are for speech recognition.
inline const std::set<std::string> kOwnFields = {"vocab",          "decoder_vocab", "start_id",
                                                 "padding_id",     "decoder_start", "mel_bins",
                                                 "source_context", "key_bias"};

/// Returns the "model" line in the description of a run.
std::string describe_seq2seq(const Seq2SeqModel& model);

}  // namespace weft
