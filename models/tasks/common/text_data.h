// Labelled text data for tasks: options, reading and held-out sets. Also builds new text encoders.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/common/tokenizer_choice.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Error message for missing training data.
inline constexpr const char* kDataRequired = "--data is required: files with labels and texts";

/// Adds the options for labelled texts: --data, --label, --held-out, --test-fraction and
/// --split-seed.
TaskOptions& add_labelled_data(TaskOptions& options, const std::string& help);

/// Reads the labelled texts in the --data files, or in `paths`. Throws ArgumentError if --data was
/// not given. Also throws the same exceptions as read_labelled_text.
LabelledText labelled_data(const OptionValues& values);
LabelledText labelled_data(const OptionValues& values, const std::vector<std::string>& paths);

/// The training set and the held-out set of a run. The held-out set is either the test set or,
/// while settings are being chosen, a validation set. If it is a validation set, the test set is
/// not used at all, so that the chosen settings can be evaluated on it later.
struct LabelledParts {
  LabelledText train, held_out;
};
/// Reads and splits the labelled data. Throws ArgumentError if --data was not given. Also throws
/// the same exceptions as read_labelled_text.
LabelledParts labelled_parts(const OptionValues& values);
/// Returns the value of --held-out: "test" or "validation".
std::string held_out_part(const OptionValues& values);

/// Config and tokenizer of a new encoder, and notes for users on the tokenizer.
struct NewEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::string notes;
};
/// Returns the encoder specified by the arguments, based on `base`. It uses the tokenizer of the
/// initial weights if there are any; otherwise the tokenizer is chosen by --tokenizer and --vocab
/// and learned from `texts`. Throws the same exceptions as encoder_tokenizer, tokenizer_choice,
/// make_tokenizer and chosen_config.
NewEncoder new_encoder(const EncoderConfig& base, const TaskArguments& args,
                       const std::function<std::vector<std::string>()>& texts);
/// Returns the tokenizer of the encoder that training starts from. Throws FormatError if the
/// tokenizer lacks [CLS], [SEP] or padding.
Tokenizer encoder_tokenizer(const Pretrained& base);

/// Returns the "model" line in the description of a run with an encoder.
std::string describe_encoder(const EncoderConfig& config, const Graph& graph);

}  // namespace weft
