// Labelled texts for tasks: options, reading, and held-out sets. Also new encoders for texts.
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

/// Message for missing training data.
inline constexpr const char* kDataRequired = "--data is required: files of labels and texts";

/// Adds the options of labelled texts: --data, --label, --held-out, --test-fraction and
/// --split-seed.
TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help);

/// Reads the lines of --data, or of `paths`. Throws ArgumentError if --data was not given, and the
/// same exceptions as read_labelled_text.
LabelledText labelled_data(const OptionValues& values);
LabelledText labelled_data(const OptionValues& values, const std::vector<std::string>& paths);

/// The training set and the held-out set of a run. The held-out set is the test set or, to choose
/// settings, a validation set. With a validation set, the test set is part of neither, so that the
/// chosen settings can be evaluated on it later.
struct LabelledParts {
  LabelledText train, held_out;
};
/// Reads and splits the labelled data. Throws ArgumentError if --data was not given, and the same
/// exceptions as read_labelled_text.
LabelledParts labelled_parts(const OptionValues& values);
/// The value of --held-out: "test" or "validation".
std::string held_out_part(const OptionValues& values);

/// Config and tokenizer of a new encoder, and messages for users about the tokenizer.
struct NewEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::string notes;
};
/// Returns the encoder that the arguments describe, based on `base`. Its tokenizer is that of the
/// weights to start from, or else the one of --tokenizer and --vocab, learned from `texts`. Throws
/// the same exceptions as encoder_tokenizer, tokenizer_choice, make_tokenizer and chosen_config.
NewEncoder new_encoder(const EncoderConfig& base, const TaskArguments& args,
                       const std::function<std::vector<std::string>()>& texts);
/// Returns the tokenizer of an encoder to start from. Throws FormatError if it lacks [CLS], [SEP]
/// or padding.
Tokenizer encoder_tokenizer(const Pretrained& base);

/// The line "model" of a run's description, for an encoder.
std::string describe_encoder(const EncoderConfig& config, const Graph& graph);

}  // namespace weft
