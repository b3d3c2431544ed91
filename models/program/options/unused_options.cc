#include "weft/models/program/options/unused_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

bool accepts_any_length(const TextGenerator& generator) {
  return generator.context() == std::numeric_limits<std::int64_t>::max();
}

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw UsageError(fmt::format("{} has no effect: {}", option, why));
}

/// Checks the rules for ids that end a text.
void check_ends(const GenerateArguments& args, const GenerationOptions& options) {
  if (options.eos_id < 0 && options.stop_ids.empty()) {
    const std::string why = "the model has no id that ends a text (--stop-ids adds some)";
    if (args.min_tokens.value_or(0) > 0) refuse("--min-tokens", why);
    if (args.min_length.value_or(0) > 0) refuse("--min-length", why);
  }
  for (const std::string& text : args.stop_ids) {
    for (const std::int64_t id : parse_ids("--stop-ids", text)) {
      const TokenIds& never = options.bad_token_ids;
      if (std::find(never.begin(), never.end(), id) != never.end())
        refuse(fmt::format("--stop-ids {}", id), "this id is never generated");
    }
  }
}

/// Checks the options that depend on the length of a prompt, whose sequence starts from `start`
/// ids.
void check_positions(const GenerateArguments& args, const GenerationOptions& options,
                     std::int64_t start, const std::string& prompt, bool decoder) {
  const std::int64_t end = length_rules(options, start).max;
  for (const auto& [position, id] : args.force) {
    const std::string option = fmt::format("--force {}:{}", position, id);
    if (position < start) {
      refuse(option, fmt::format("the first {} positions of {} contain {}", start, prompt,
                                 decoder ? "the prompt" : "the decoder's first ids"));
    }
    if (position >= end) {
      refuse(option, fmt::format("the last position of {} is {} (see --tokens)", prompt, end - 1));
    }
  }
  if (args.no_repeat_ngram.value_or(0) > end) {
    refuse(fmt::format("--no-repeat-ngram {}", *args.no_repeat_ngram),
           fmt::format("{} has at most {} ids", prompt, end));
  }
  for (const std::string& text : args.stop_sequences) {
    const std::int64_t size = std::ssize(parse_ids("--stop-sequence", text));
    if (size > end - start) {
      refuse(fmt::format("--stop-sequence \"{}\"", text),
             fmt::format("at most {} ids are generated for {}", end - start, prompt));
    }
  }
}

}  // namespace

void refuse_unused_truncation(const TruncateOption& truncate, const TextGenerator& generator,
                              bool slides) {
  if (!truncate.given()) return;
  if (slides) refuse("--truncate", "the window of the model moves with the text");
  if (accepts_any_length(generator)) refuse("--truncate", "the model accepts texts of any length");
}

void refuse_unused(const GenerateArguments& args, const TextGenerator& generator,
                   const std::vector<TokenIds>& prompts, const GenerationOptions& options,
                   const PlaceOf& place) {
  if (args.slide && accepts_any_length(generator))
    refuse("--slide", "the model accepts texts of any length");
  check_ends(args, options);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const bool decoder = generator.continues();
    check_positions(args, generator.options_for(prompts[i], options),
                    std::ssize(decoder ? prompts[i] : options.start), place(i), decoder);
  }
}

}  // namespace weft::program
