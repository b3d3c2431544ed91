#include "weft/models/tasks/common/folder_settings.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

void add(TokenIds& ids, std::int32_t id) {
  if (id >= 0) ids.push_back(id);
}

/// Sets the special ids around texts to the defaults of the tokenizer's transformers class, unless
/// the tokenizer settings override them.
void set_default_special_ids(const hf::Folder& folder, const Tokenizer& tokenizer,
                             GenerationSettings& s) {
  const std::string type = hf::ConfigReader(folder.config).model_type();
  const FolderSettings about({folder.path, folder.ignored_keys});
  if (hf::is_gpt(folder.config)) {
    const bool pieces = tokenizer.type() == SentencePieceTokenizer::kType;
    if (about.value<bool>("add_bos_token").value_or(pieces)) add(s.before, tokenizer.bos_id());
    return;
  }
  if (type == "bart") add(s.before, tokenizer.bos_id());
  if (type != "mbart") return add(s.after, tokenizer.eos_id());
  const std::int32_t language =
      tokenizer.find(about.value<std::string>("src_lang").value_or("en_XX"));
  const bool in_front =
      about.value<std::string>("tokenizer_class").value_or("").starts_with("MBart50");
  if (in_front) add(s.before, language);
  add(s.after, tokenizer.eos_id());
  if (!in_front) add(s.after, language);
}

}  // namespace

GenerationSettings folder_settings(const hf::Folder& folder, const FolderTokenizer& text) {
  hf::GenerationConfig said = hf::read_generation_config(folder);
  GenerationSettings settings{.options = std::move(said.options),
                              .states_length = said.states_length,
                              .bos_id = said.bos_id,
                              .tasks = std::move(said.tasks)};
  if (said.start_id >= 0) settings.start = {said.start_id};
  if (text.tokenizer && text.tokenizer->encode_text("").size() == 0)
    set_default_special_ids(folder, *text.tokenizer, settings);
  return settings;
}

void require_ids_fit(const std::string& folder, const Tokenizer& tokenizer, std::int64_t rows) {
  if (tokenizer.vocab_size() <= rows) return;
  throw ArgumentError(
      fmt::format("{}: {}", folder, ids_without_rows(tokenizer.vocab_size(), rows)));
}

TokenIds read_prompt(const Tokenizer& tokenizer, const GenerationSettings& settings,
                     std::string_view text) {
  require_utf8(text);
  TokenIds ids = settings.before;
  for (const std::int32_t id : tokenizer.encode_text(text).ids) ids.push_back(id);
  ids.insert(ids.end(), settings.after.begin(), settings.after.end());
  return ids;
}

}  // namespace weft
