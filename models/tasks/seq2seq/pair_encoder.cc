#include "weft/models/tasks/seq2seq/pair_encoder.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/tasks/common/folder_settings.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;

/// Truncates ids to `longest` and keeps the last `kept` of them.
bool cut_ids(Ids& ids, std::int64_t longest, std::int64_t kept) {
  if (std::ssize(ids) <= longest) return false;
  kept = std::min(kept, longest);
  ids.erase(ids.begin() + (longest - kept), ids.end() - kept);
  return true;
}

}  // namespace

PairEncoder::PairEncoder(const Seq2SeqModel& model)
    : model_(model), targets_(model.tokenizer.targets()) {
  if (!model.generation) return;
  languages_ = all_languages(model.tokenizer);
  if (languages_.codes.empty()) return;
  const GenerationSettings& settings = *model.generation;
  const bool starts =
      target_starts_outputs(languages_, read_prompt(model.tokenizer, settings, "a"));
  target_ = settings.options.forced_bos_id;
  if (starts) target_ = settings.start.empty() ? -1 : settings.start.front();
  if (!languages_.is_language(target_)) target_ = -1;
}

Ids PairEncoder::source(std::string_view text) const {
  if (!model_.generation) return model_.tokenizer.encode_to_end(text);
  const TokenIds ids = read_prompt(model_.tokenizer, *model_.generation, text);
  return {ids.begin(), ids.end()};
}

Ids PairEncoder::target(std::string_view text) const {
  if (!model_.generation) return targets_.encode_to_end(text);
  TokenIds ids = read_prompt(targets_, *model_.generation, text);
  languages_.set_language(ids, target_);
  return {ids.begin(), ids.end()};
}

bool PairEncoder::cut_source(Ids& ids, std::int64_t longest) const {
  const auto text = std::find_if(ids.rbegin(), ids.rend(),
                                 [&](std::int32_t id) { return !model_.tokenizer.is_special(id); });
  return cut_ids(ids, longest, text - ids.rbegin());
}

bool PairEncoder::cut_target(Ids& ids, std::int64_t longest) const {
  return cut_ids(ids, longest, languages_.is_language(ids.back()) ? 1 : 0);
}

LanguagePair set_languages(const Tokenizer& tokenizer, GenerationSettings generation,
                           const Languages& languages) {
  const LanguageIds ids = language_ids(tokenizer, languages);
  if (ids.source < 0 || ids.target < 0) {
    throw ArgumentError(
        "a pair of languages consists of two codes of a multilingual model: give the source and "
        "the target language (if sources name the language, as in \">>fra<< \" or \"translate "
        "English to French: \", write it in the sources)");
  }
  const bool starts = target_starts_outputs(ids, read_prompt(tokenizer, generation, "a"));
  for (TokenIds* around : {&generation.before, &generation.after}) {
    for (std::int64_t& id : *around) {
      if (ids.is_language(id)) id = ids.source;
    }
  }
  if (starts) {
    generation.start = {ids.target};
  } else {
    generation.options.forced_bos_id = ids.target;
  }
  return {with_source_language(tokenizer, languages.source), std::move(generation)};
}

}  // namespace weft
