// Descriptions of models that both tasks for encoder-decoders print.
#pragma once

#include <set>
#include <string>

#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// Config fields that are not command-line options: the tokenizer determines them.
inline const std::set<std::string> kOwnFields = {"vocab", "decoder_vocab", "start_id", "padding_id",
                                                 "decoder_start"};

/// The line "model" of a run's description.
std::string describe_seq2seq(const Seq2SeqModel& model);

}  // namespace weft
