// The command line of weft generate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/program/options.h"
#include "weft/models/program/text_inputs.h"

namespace weft::program {

/// What is not given is as the model says, or as GenerationOptions.
struct GenerateArguments {
  std::string file;
  std::vector<std::string> prompts, prompt_ids;
  std::string prompts_file;
  std::string task;
  bool ids = false, json = false;
  std::optional<std::int64_t> batch;
  int threads = 0;

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
  std::map<std::int64_t, std::int64_t> force;  // ids by position
  std::string start_ids;

  bool of_folder() const;
  /// Whether the lines of --prompts are ids: of folders, where ids are written.
  bool prompts_are_ids() const {
    return ids && prompts.empty() && !prompts_file.empty() && of_folder();
  }
};

/// Declares the options.
void add_generate_options(OptionList& options, GenerateArguments& args);

/// Those of drawing alone.
void add_drawing_options(OptionList& options, GenerateArguments& args);

/// "1 2 3" as ids; UsageError that names `option` where it is something else.
TokenIds parse_ids(const std::string& option, const std::string& text);

/// Changes `options`, what the model says, to what the command line asks for. Throws UsageError for
/// what contradicts itself or makes no sense.
void apply_arguments(const GenerateArguments& args, GenerationOptions& options);

/// The prompts in ids: of --prompt-ids, or of the lines of --prompts. UsageError where there are
/// none.
std::vector<TokenIds> id_prompts(const GenerateArguments& args);
/// A prompt of --prompts, and the line that it stands in, counted from 0.
struct PromptLine {
  std::string text;
  std::size_t line = 0;
};
/// Those that are not blank. DataError where there are none.
std::vector<PromptLine> prompt_lines(const GenerateArguments& args);

}  // namespace weft::program
