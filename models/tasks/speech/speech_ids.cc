#include "weft/models/tasks/speech/speech_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

/// The codes and English names of the languages of Whisper, each followed by a space; after them,
/// the other names that transformers accepts.
constexpr std::string_view kLanguageNames =
    "en:english zh:chinese de:german es:spanish ru:russian ko:korean fr:french ja:japanese "
    "pt:portuguese tr:turkish pl:polish ca:catalan nl:dutch ar:arabic sv:swedish it:italian "
    "id:indonesian hi:hindi fi:finnish vi:vietnamese he:hebrew uk:ukrainian el:greek ms:malay "
    "cs:czech ro:romanian da:danish hu:hungarian ta:tamil no:norwegian th:thai ur:urdu "
    "hr:croatian bg:bulgarian lt:lithuanian la:latin mi:maori ml:malayalam cy:welsh sk:slovak "
    "te:telugu fa:persian lv:latvian bn:bengali sr:serbian az:azerbaijani sl:slovenian "
    "kn:kannada et:estonian mk:macedonian br:breton eu:basque is:icelandic hy:armenian "
    "ne:nepali mn:mongolian bs:bosnian kk:kazakh sq:albanian sw:swahili gl:galician "
    "mr:marathi pa:punjabi si:sinhala km:khmer sn:shona yo:yoruba so:somali af:afrikaans "
    "oc:occitan ka:georgian be:belarusian tg:tajik sd:sindhi gu:gujarati am:amharic "
    "yi:yiddish lo:lao uz:uzbek fo:faroese ht:haitian creole ps:pashto tk:turkmen nn:nynorsk "
    "mt:maltese sa:sanskrit lb:luxembourgish my:myanmar bo:tibetan tl:tagalog mg:malagasy "
    "as:assamese tt:tatar haw:hawaiian ln:lingala ha:hausa ba:bashkir jw:javanese su:sundanese "
    "yue:cantonese "
    "my:burmese ca:valencian nl:flemish ht:haitian lb:letzeburgesch ps:pushto pa:panjabi "
    "ro:moldavian ro:moldovan si:sinhalese es:castilian zh:mandarin ";

/// Returns the code of a language name, or "".
std::string code_of_name(std::string_view name) {
  const std::size_t at = kLanguageNames.find(fmt::format(":{} ", name));
  if (at == std::string_view::npos || name.find(':') != std::string_view::npos) return {};
  const std::size_t begin = kLanguageNames.rfind(' ', at);
  const std::size_t first = begin == std::string_view::npos ? 0 : begin + 1;
  return std::string(kLanguageNames.substr(first, at - first));
}

std::vector<std::string> keys_of(const SpeechSettings::Ids& ids) {
  std::vector<std::string> names;
  for (const auto& [name, id] : ids) names.push_back(name);
  return names;
}

/// Throws ArgumentError if a language or task is given for a model that has neither.
void require_multilingual(const SpeechModel& model, const char* what, std::string_view given) {
  if (model.speech().multilingual) return;
  throw ArgumentError(fmt::format("the model transcribes English only: leave out the {} '{}'", what,
                                  excerpt(given)));
}

}  // namespace

std::string speech_language(const SpeechModel& model, std::string_view language) {
  const SpeechSettings::Ids& known = model.speech().languages;
  require_multilingual(model, "language", language);
  std::string name(language);
  if (name.size() > 4 && name.starts_with("<|") && name.ends_with("|>"))
    name = name.substr(2, name.size() - 4);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (known.contains(name)) return name;
  if (const std::string code = code_of_name(name); known.contains(code)) return code;
  if (known.empty())
    throw ArgumentError(fmt::format(
        "the model has no language ids, so the language '{}' cannot be used", excerpt(language)));
  throw ArgumentError(unknown_name("language", excerpt(language), keys_of(known)));
}

std::string speech_task_name(const SpeechModel& model, const std::string& given) {
  const SpeechSettings& s = model.speech();
  if (!given.empty()) require_multilingual(model, "task", given);
  std::string task = given.empty() ? s.task : given;
  // Older folders force the id of their task.
  for (const auto& [place, forced] : model.generation.options.forced) {
    for (const auto& [name, id] : s.tasks) {
      if (task.empty() && id == forced) task = name;
    }
  }
  if (task.empty()) task = "transcribe";
  if (s.tasks.contains(task) || (s.tasks.empty() && task == "transcribe")) return task;
  throw ArgumentError(
      s.tasks.empty()
          ? fmt::format("the model has no task ids, so the task '{}' cannot be used", excerpt(task))
          : unknown_name("task", excerpt(task), keys_of(s.tasks)));
}

TokenIds speech_start(const SpeechModel& model, const std::string& language,
                      const std::string& task, bool timestamps) {
  const SpeechSettings& s = model.speech();
  TokenIds ids = {model.start_id()};
  if (!language.empty()) {
    ids.push_back(s.languages.at(language));
    if (const auto found = s.tasks.find(task); found != s.tasks.end()) ids.push_back(found->second);
  }
  if (!timestamps && s.no_timestamps_id >= 0) ids.push_back(s.no_timestamps_id);
  return ids;
}

TokenIds speech_text_ids(const SpeechModel& model, std::string_view text) {
  if (!model.has_tokenizer()) throw FormatError(model.no_tokenizer);
  const Encoding encoded =
      model.tokenizer.encode_text(text, {.add_special = false, .special_in_text = false});
  return {encoded.ids.begin(), encoded.ids.end()};
}

}  // namespace weft
