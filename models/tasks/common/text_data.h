// Texts for tasks: options, and how they are read and held out.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tokenizers/sentence_piece.h"

namespace weft {

/// --data, --label, --held-out, --test-fraction and --split-seed: labelled texts.
TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help);
/// --vocab: pieces of a new tokenizer.
TaskOptions& add_vocab(TaskOptions& options);

/// The labelled data in the parts that a run uses. What was chosen on the validation part can be
/// measured on the test part later: it is not in either of the former's parts.
struct LabelledParts {
  LabelledText train, held_out;
};
/// Throws ArgumentError where --data was not given, and as read_labelled_text.
LabelledParts labelled_parts(const OptionValues& values);
/// "test" or "validation".
std::string held_out_part(const OptionValues& values);

/// A tokenizer of the --vocab pieces of these texts. Throws as SentencePieceTokenizer::train.
SentencePieceTokenizer new_tokenizer(const std::vector<std::string>& texts,
                                     const OptionValues& values);
/// The config asked for, of `base`, for this tokenizer.
EncoderConfig encoder_config_for(const EncoderConfig& base, const SentencePieceTokenizer& tokenizer,
                                 const TaskArguments& args);
/// The tokenizer of an encoder to start from. Throws FormatError where it lacks [CLS], [SEP] or
/// padding.
SentencePieceTokenizer encoder_tokenizer(const Pretrained& base);

/// The line "model" of an encoder.
std::string describe_encoder(const EncoderConfig& config, const Graph& graph);

}  // namespace weft
