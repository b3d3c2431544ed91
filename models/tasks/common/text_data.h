// Texts for tasks: options, and how they are read and held out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/common/tokenizer_choice.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// What is said where there is nothing to learn from.
inline constexpr const char* kDataRequired = "--data is required: files of labels and texts";

/// --data, --label, --held-out, --test-fraction and --split-seed: labelled texts.
TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help);

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

/// What the new encoder of a task is made of.
struct NewEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::string notes;
};
/// The encoder asked for, of `base`, with the tokenizer of the weights that it starts from, or the
/// one of --tokenizer and --vocab, learned from `texts`. Throws as encoder_tokenizer,
/// tokenizer_choice, make_tokenizer and chosen_config.
NewEncoder new_encoder(const EncoderConfig& base, const TaskArguments& args,
                       const std::function<std::vector<std::string>()>& texts);
/// The tokenizer of an encoder to start from. Throws FormatError where it lacks [CLS], [SEP] or
/// padding.
Tokenizer encoder_tokenizer(const Pretrained& base);

/// The line "model" of an encoder.
std::string describe_encoder(const EncoderConfig& config, const Graph& graph);

}  // namespace weft
