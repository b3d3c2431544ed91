// The command-line arguments of `weft generate`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/fields/model_path.h"
#include "weft/models/generate/options.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/options/trace_arguments.h"

namespace weft::program {

/// Values of --length-penalty.
inline constexpr RealRange kLengthPenalties{-GenerationOptions::kMaxLengthPenalty,
                                            GenerationOptions::kMaxLengthPenalty};

/// Options that are not given have the value from the model's settings, or else the default of
/// GenerationOptions.
struct GenerateArguments {
  ModelPath file;
  std::vector<std::string> prompts, prompt_ids;
  std::string prompts_file;
  std::string task;
  bool ids = false, json = false;
  std::optional<std::int64_t> batch;
  Execution execution;
  TraceArguments trace;

  std::optional<std::int64_t> tokens, max_length, min_length, min_tokens;
  bool greedy = false, sample = false, slide = false;
  std::optional<double> temperature, top_p, min_p;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> beams, results;
  std::optional<double> length_penalty;
  std::string early_stopping;
  std::optional<double> repetition_penalty;
  std::optional<std::int64_t> no_repeat_ngram;
  TruncateOption truncate;
  std::vector<std::string> stop, stop_ids, stop_sequences, forbid_ids;
  std::map<std::int64_t, std::int64_t> force;  // forced ids by position
  std::string json_schema, regex;
  std::vector<std::string> choices;
  std::string start_ids;

  /// True if `file` is a Hugging Face folder.
  bool is_folder() const;
  /// True if the lines of the --prompts file contain ids. This is the case for folders if --ids is
  /// given.
  bool prompts_are_ids() const {
    return ids && prompts.empty() && !prompts_file.empty() && is_folder();
  }
};

/// Adds the options of weft generate.
void add_generate_options(OptionList& options, GenerateArguments& args);

/// Adds only the options for sampling.
void add_drawing_options(OptionList& options, GenerateArguments& args);

/// Parses ids such as "1 2 3". Throws UsageError with the name `option` if `text` is not a list of
/// ids.
TokenIds parse_ids(const std::string& option, const std::string& text);

/// Returns the first ids of an encoder-decoder's output: --start-ids or, if it is empty, those in
/// `options`, the default options of the model in `file`. Throws ArgumentError if there are none.
TokenIds start_ids(const std::string& given, const GenerationOptions& options,
                   const std::string& file);

/// Applies the command line to `options`, the default options of a model. Throws UsageError for
/// contradictory and invalid values.
void apply_arguments(const GenerateArguments& args, GenerationOptions& options);
/// Throws UsageError if a minimum length on the command line exceeds the maximum length in
/// `options`, the options for a prompt.
void check_lengths(const GenerateArguments& args, const GenerationOptions& options);

/// Returns the --prompt-ids prompts. Throws UsageError under the same conditions as parse_ids().
std::vector<TokenIds> id_prompts(const GenerateArguments& args);
/// A prompt from the --prompts file and its line number, counted from 0.
struct PromptLine {
  std::string text;
  std::size_t line = 0;
};
/// Returns the lines of the --prompts file that are not blank. Throws DataError if there are none.
std::vector<PromptLine> prompt_lines(const GenerateArguments& args);

}  // namespace weft::program
