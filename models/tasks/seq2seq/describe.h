// What both tasks of encoder-decoders say of their models.
#pragma once

#include <set>
#include <string>

#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace WEFT_API weft {

/// Fields of the config that a command line does not set: the tokenizer says what they are.
inline const std::set<std::string> kOwnFields = {"vocab", "decoder_vocab", "start_id", "padding_id",
                                                 "decoder_start"};

/// The line "model".
std::string describe_seq2seq(const Seq2SeqModel& model);

}  // namespace weft
