#include "weft/models/tasks/common/folder_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

/// Returns the id of a language code such as "en_XX", "eng_Latn" or, for M2M100, "en"; -1 if the
/// tokenizer lacks it.
std::int32_t language_id(const Tokenizer& tokenizer, const std::string& code) {
  const std::int32_t id = tokenizer.find(fmt::format("__{}__", code));
  return id >= 0 ? id : tokenizer.find(code);
}

/// Returns the id of the language in a tokenizer setting, -1 if it is not set.
std::int32_t language_setting(const FolderSettings& about, const char* key,
                              const Tokenizer& tokenizer) {
  const auto code = about.value<std::string>(key);
  const std::int32_t id = code ? language_id(tokenizer, *code) : -1;
  if (code && id < 0) {
    throw FormatError(fmt::format(
        "tokenizer_config.json.{} is '{}', which is no language code of the tokenizer; set it to "
        "one, or remove it",
        key, excerpt(*code)));
  }
  return id;
}

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
  if (type != "mbart" && type != "m2m_100") return add(s.after, tokenizer.eos_id());
  const std::string name = about.tokenizer_class();
  std::int32_t language = language_setting(about, "src_lang", tokenizer);
  if (language < 0) {
    language = language_id(tokenizer, type == "mbart"           ? "en_XX"
                                      : name == "NllbTokenizer" ? "eng_Latn"
                                                                : "en");
  }
  const bool in_front = type == "mbart" ? name == "MBart50Tokenizer"
                                        : !about.value<bool>("legacy_behaviour").value_or(false);
  if (in_front) add(s.before, language);
  add(s.after, tokenizer.eos_id());
  if (!in_front) add(s.after, language);
}

}  // namespace

GenerationSettings generation_settings(hf::GenerationConfig said) {
  GenerationSettings settings{.options = std::move(said.options),
                              .states_length = said.states_length,
                              .bos_id = said.bos_id,
                              .tasks = std::move(said.tasks),
                              .speech = std::move(said.speech)};
  if (said.start_id >= 0) settings.start = {said.start_id};
  return settings;
}

GenerationSettings folder_settings(const hf::Folder& folder, const FolderTokenizer& text) {
  GenerationSettings settings = generation_settings(hf::read_generation_config(folder));
  if (!text.tokenizer) return settings;
  if (text.tokenizer->encode_text("").size() == 0)
    set_default_special_ids(folder, *text.tokenizer, settings);
  // The language of outputs, unless the generation settings specify it.
  const FolderSettings about({folder.path, folder.ignored_keys});
  constexpr std::array kForced = {"NllbTokenizer", "M2M100Tokenizer", "MBart50Tokenizer"};
  if (settings.options.forced_bos_id < 0 &&
      std::find(kForced.begin(), kForced.end(), about.tokenizer_class()) != kForced.end())
    settings.options.forced_bos_id = language_setting(about, "tgt_lang", *text.tokenizer);
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
