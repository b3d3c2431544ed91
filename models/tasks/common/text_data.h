// Texts for tasks: options, and how they are read and held out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace weft {

/// What is said where there is nothing to learn from.
inline constexpr const char* kDataRequired = "--data is required: files of labels and texts";

/// --data, --label, --held-out, --test-fraction and --split-seed: labelled texts.
TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help);
/// --vocab: the most pieces of a new tokenizer.
TaskOptions& add_vocab(TaskOptions& options);

/// The lines of --data, or of `paths`. Throws ArgumentError where --data was not given, and as
/// read_labelled_text.
LabelledText labelled_data(const OptionValues& values);
LabelledText labelled_data(const OptionValues& values, const std::vector<std::string>& paths);

/// The labelled data in the parts that a run uses. What was chosen on the validation part can be
/// measured on the test part later: it is not in either of the former's parts.
struct LabelledParts {
  LabelledText train, held_out;
};
/// Throws ArgumentError where --data was not given, and as read_labelled_text.
LabelledParts labelled_parts(const OptionValues& values);
/// "test" or "validation".
std::string held_out_part(const OptionValues& values);

/// A tokenizer, and what people should know of how it was made: whole lines, mostly none.
struct LearnedTokenizer {
  Tokenizer tokenizer;
  std::string notes = {};
};
/// Learns pieces of these texts: at most options.vocab, and says so where the texts give fewer.
/// Throws as SentencePieceTokenizer::train.
LearnedTokenizer learn_pieces(std::span<const std::string> texts,
                              const SentencePieceOptions& options);
/// What the new encoder of a task is made of.
struct NewEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::string notes;
};
/// The encoder asked for, of `base`, with the tokenizer of the weights that it starts from, or a
/// new one of --vocab pieces of `texts`. Throws as encoder_tokenizer, learn_pieces and
/// chosen_config.
NewEncoder new_encoder(const EncoderConfig& base, const TaskArguments& args,
                       const std::function<std::vector<std::string>()>& texts);
/// The tokenizer of an encoder to start from. Throws FormatError where it lacks [CLS], [SEP] or
/// padding.
Tokenizer encoder_tokenizer(const Pretrained& base);

/// The line "model" of an encoder.
std::string describe_encoder(const EncoderConfig& config, const Graph& graph);

}  // namespace weft
