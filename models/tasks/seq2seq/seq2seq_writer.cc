#include "weft/models/tasks/seq2seq/seq2seq_writer.h"

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/tasks/common/folder_settings.h"

namespace weft {

Seq2SeqWriter::Seq2SeqWriter(Session& session, const Seq2SeqModel& model,
                             const Languages& languages)
    : session_(session),
      model_(model),
      start_(model.generation ? model.generation->start : TokenIds{model.config.start_id}) {
  if (languages.source.empty() && languages.target.empty()) return;
  languages_ = language_ids(tokenizer(), languages);
  if (languages_.target < 0) return;
  const TokenIds any = read("a");
  if (languages_.is_language(any.front())) {
    forced_ = languages_.target;
  } else {
    start_ = {languages_.target};
  }
}

const Tokenizer& Seq2SeqWriter::tokenizer() const {
  if (!model_.no_tokenizer.empty()) throw FormatError(model_.no_tokenizer);
  return model_.tokenizer;
}

std::int64_t Seq2SeqWriter::context() const {
  return model_.config.positions == Seq2SeqPositions::learned
             ? model_.config.context
             : std::numeric_limits<std::int64_t>::max();
}

TokenIds Seq2SeqWriter::encode(const Tokenizer& tokenizer, const std::string& text) const {
  TokenIds ids;
  if (model_.generation) {
    ids = read_prompt(tokenizer, *model_.generation, text);
  } else {
    const auto encoded = tokenizer.encode_to_end(text);
    ids.assign(encoded.begin(), encoded.end());
  }
  if (ids.empty()) throw ArgumentError("the text is empty: nothing can be encoded");
  return ids;
}

TokenIds Seq2SeqWriter::read(std::string_view text) const {
  TokenIds ids = encode(tokenizer(), languages_.in_text + std::string(text));
  languages_.put_source(ids);
  return ids;
}

TokenIds Seq2SeqWriter::read_output(std::string_view text) const {
  return encode(tokenizer().targets(), std::string(text));
}

GenerationOptions Seq2SeqWriter::usual(const TokenIds& prompt) const {
  GenerationOptions options;
  if (model_.generation) {
    options = model_.generation->options;
    // Ids that only the model's table has are no text.
    if (model_.no_tokenizer.empty()) {
      for (std::int64_t id = model_.tokenizer.vocab_size(); id < model_.config.target_vocab(); ++id)
        options.forbidden.push_back(id);
    }
  } else {
    const std::int32_t padding = tokenizer().pad_id();
    options = {.eos_id = tokenizer().eos_id(), .pad_id = padding, .never = {padding}};
  }
  if (!model_.generation || !model_.generation->states_length) {
    constexpr std::int64_t kStep = 8;
    options.max_new = -1;
    options.max_length = 2 * round_up(std::ssize(prompt), kStep) + kStep;
  }
  if (length_rules(options, std::ssize(start_)).max > context()) {
    options.max_new = -1;
    options.max_length = context();
  }
  if (forced_ >= 0) options.forced_bos_id = forced_;
  return options;
}

SearchResult Seq2SeqWriter::generate(const std::vector<TokenIds>& prompts, const TokenIds& start,
                                     const GenerationOptions& options, const OnToken& on_token) {
  return weft::generate(session_, model_.decoding(), prompts, start, options, on_token);
}

std::vector<ContinuationScore> Seq2SeqWriter::score(const std::vector<TokenIds>& prompts,
                                                    const std::vector<TokenIds>& continuations,
                                                    const TokenIds& start) {
  if (!model_.has_program("score")) {
    throw FormatError(
        "the model's file was written before there was scoring: weft train --resume writes it "
        "anew");
  }
  return weft::score(session_, model_.program("score"), start, prompts, continuations);
}

}  // namespace weft
