#include "weft/models/tasks/common/text_generator.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/tasks/common/truncate_ids.h"

namespace weft {

const Tokenizer& TextGenerator::tokenizer() const {
  if (!has_tokenizer()) throw FormatError(missing_tokenizer_);
  return tokenizer_;
}

void TextGenerator::set_task(std::string_view name) {
  static const GenerationSettings kNothing;
  task_ = &(settings_ == nullptr ? kNothing : *settings_).task(name);
}

GenerationOptions TextGenerator::stored_options() const {
  GenerationOptions options = task_ == nullptr ? settings_->options : task_->options;
  options.max_new = -1;
  options.max_length = 0;
  return options;
}

GenerationOptions TextGenerator::options_for(const TokenIds& prompt,
                                             GenerationOptions options) const {
  if (options.max_new < 0 && options.max_length == 0) {
    if (task_ != nullptr ? task_->states_length
                         : settings_ != nullptr && settings_->states_length) {
      const GenerationOptions& stated = task_ == nullptr ? settings_->options : task_->options;
      options.max_new = stated.max_new;
      options.max_length = stated.max_length;
    } else {
      set_default_length(prompt, options);
    }
    const std::int64_t front = std::ssize(continues() ? prompt : options.start);
    if (!options.slide && length_rules(options, front).max > context()) {
      options.max_new = -1;
      options.max_length = context();
    }
  }
  options.check();
  return options;
}

std::vector<TokenIds> TextGenerator::read_all(const std::vector<std::string>& texts) const {
  static_cast<void>(
      tokenizer());  // report a missing tokenizer as a model error, not as a text error
  std::vector<TokenIds> prompts;
  for (const std::string& text : texts)
    prompts.push_back(with_number(prompts.size(), [&] { return read(text); }));
  return prompts;
}

TextGeneration TextGenerator::generate(const std::vector<std::string>& texts) {
  return generate(texts, options());
}

TextGeneration TextGenerator::generate(const std::vector<std::string>& texts,
                                       const GenerationOptions& options) {
  return generate_ids(read_all(texts), options);
}

TextGeneration TextGenerator::generate_ids(std::vector<TokenIds> prompts,
                                           const GenerationOptions& options) {
  return {*this, std::move(prompts), options};
}

std::vector<CutText> TextGenerator::fit_prompts(std::vector<TokenIds>& prompts,
                                                const GenerationOptions& options) const {
  std::vector<CutText> truncated;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::int64_t size = std::ssize(prompts[p]);
    // A decoder needs room for at least one id after the prompt.
    const std::int64_t most = continues() ? context() - 1 : context();
    if (size <= most || options.slide) continue;
    CutText cut{p, size, most};
    if (!options.truncate) {
      report_truncation(
          cut, {},
          continues() ? "the model, which needs room for output, accepts" : "the model accepts");
    }
    if (continues()) {
      const LengthRules lengths = length_rules(options_for({prompts[p].front()}, options), 1);
      cut.kept = context() - std::clamp<std::int64_t>(lengths.max - 1, 1, context() / 2);
    }
    prompts[p] = cut_prompt(prompts[p], cut.kept);
    truncated.push_back(cut);
  }
  return truncated;
}

TokenIds TextGenerator::cut_prompt(const TokenIds& prompt, std::int64_t kept) const {
  return truncate_ids(prompt, kept, has_tokenizer() ? &tokenizer_ : nullptr,
                      continues() ? TextEnd::left : TextEnd::right);
}

TokenIds TextGenerator::start_of(const TokenIds& given) const {
  if (continues()) return {};
  return given.empty() ? options().start : given;
}

}  // namespace weft
