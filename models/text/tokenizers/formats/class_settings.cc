#include "weft/models/text/tokenizers/formats/class_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/post_processors/template_processing.h"

namespace weft {
namespace {

constexpr std::string_view kConfig = "tokenizer_config.json";

/// The classes that change BERT's normaliser, in addition to is_bert_class().
constexpr std::array<std::string_view, 3> kBertLike = {"MPNetTokenizer", "FunnelTokenizer",
                                                       "LayoutLMv2Tokenizer"};
/// A class that adds a beginning-of-text token by default, and the default names of its tokens.
struct StartingClass {
  std::string_view name, bos, eos;
};
constexpr std::array<StartingClass, 4> kStartingClasses = {
    StartingClass{"LlamaTokenizer", "<s>", "</s>"},
    StartingClass{"CodeLlamaTokenizer", "<s>", "</s>"},
    StartingClass{"GemmaTokenizer", "<bos>", "<eos>"},
    StartingClass{"CohereTokenizer", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"}};

/// Changes the JSON form of a component with `change`, which returns true if it changed anything.
template <class Part, class Change>
void change_part(Part& part, const Change& change) {
  if (part == nullptr) return;
  OrderedJson json;
  JsonForm<Part>::write(json, part);
  if (change(json)) JsonForm<Part>::read(nlohmann::json(json), "tokenizer.json", part);
}

/// Sets a field of a component. Returns true if its value changed.
template <class T>
bool set_field(OrderedJson& json, const char* field, const std::optional<T>& value) {
  if (!value || json[field] == *value) return false;
  json[field] = *value;
  return true;
}

void set_bert_normaliser(SubwordParts& parts, const FolderSettings& folder) {
  change_part(parts.normalizer, [&](OrderedJson& json) {
    if (json["type"] != "BertNormalizer") return false;
    bool changed = set_field(json, "lowercase", folder.value<bool>("do_lower_case"));
    changed |= set_field(json, "strip_accents", folder.value<bool>("strip_accents"));
    changed |=
        set_field(json, "handle_chinese_chars", folder.value<bool>("tokenize_chinese_chars"));
    return changed;
  });
}

/// Returns true if a component or one of its steps, which are in `list`, is a `type`.
bool has_step(const OrderedJson& json, const char* list, std::string_view type) {
  if (json["type"] == type) return true;
  const auto steps = json.find(list);
  return steps != json.end() &&
         std::any_of(steps->begin(), steps->end(),
                     [&](const OrderedJson& step) { return has_step(step, list, type); });
}

void set_prefix_space(SubwordParts& parts, const FolderSettings& folder) {
  const std::optional<bool> wanted = folder.value<bool>("add_prefix_space");
  if (!wanted) return;
  const auto set = [&](OrderedJson& json) {
    return json.contains("add_prefix_space") && set_field(json, "add_prefix_space", wanted);
  };
  std::optional<bool> adds;  // what tokenizer.json says, if it adds prefixes in another way
  change_part(parts.pre_tokenizer, [&](OrderedJson& json) {
    if (json["type"] == "Metaspace") adds = json["prepend_scheme"] != "never";
    return set(json);
  });
  change_part(parts.post_processor, set);
  change_part(parts.normalizer, [&](OrderedJson& json) {
    if (has_step(json, "normalizers", "Prepend")) adds = true;
    return false;
  });
  if (adds && *adds != *wanted) {
    throw FormatError(fmt::format(
        "{}.add_prefix_space is {}, but tokenizer.json {} a prefix to texts; remove the key, or "
        "write a tokenizer.json with this setting",
        kConfig, *wanted, *adds ? "adds" : "does not add"));
  }
}

std::int32_t find_token(const SubwordParts& parts, std::string_view text) {
  for (const AddedToken& token : parts.added)
    if (token.content == text) return token.id;
  return parts.model->find(text);
}

/// Adds a token of the vocabulary to the tokens that are recognised in texts.
void add_special(SubwordParts& parts, const std::string& text) {
  const bool known = std::any_of(parts.added.begin(), parts.added.end(),
                                 [&](const AddedToken& token) { return token.content == text; });
  const std::int32_t id = known ? -1 : parts.model->find(text);
  if (id < 0) return;
  AddedToken& token = parts.added.emplace_back();
  token.id = id;
  token.content = text;
  token.special = true;
  token.normalized = false;
}

void add_tokens(SubwordParts& parts, const FolderSettings& folder) {
  for (AddedToken token : folder.added()) {
    if (std::any_of(parts.added.begin(), parts.added.end(),
                    [&](const AddedToken& other) { return other.content == token.content; }))
      continue;
    if (const std::int32_t id = parts.model->find(token.content); id >= 0) token.id = id;
    parts.added.push_back(std::move(token));
  }
  for (const SpecialIdName& special : kSpecialIds) {
    if (const auto text = folder.token(fmt::format("{}_token", special.name)))
      add_special(parts, *text);
  }
  for (const auto& [key, text] : folder.further_special()) {
    if (find_token(parts, text) < 0) {
      throw FormatError(
          fmt::format("{} names '{}', which is not in the vocabulary of tokenizer.json; remove it, "
                      "or add it to the tokenizer and to the model",
                      key, excerpt(text)));
    }
    add_special(parts, text);
  }
}

/// The post-processor that adds the given tokens around texts or, if `pairs` is false, around a
/// text and around two texts together.
PostProcessorPtr ends_template(std::span<const std::pair<std::string, std::int32_t>> front,
                               std::span<const std::pair<std::string, std::int32_t>> back,
                               bool pairs = true) {
  using post_processors::Template;
  using post_processors::TemplatePiece;
  Template::Pieces single, second;
  Template::Tokens tokens;
  const auto add_to = [&](Template::Pieces& pieces, const auto& list, std::int32_t type) {
    for (const auto& [text, id] : list) {
      pieces.push_back({false, text, type});
      tokens[text] = {text, {id}, {text}};
    }
  };
  const auto around = [&](Template::Pieces& pieces, const char* name, std::int32_t type) {
    add_to(pieces, front, type);
    pieces.push_back({true, name, type});
    add_to(pieces, back, type);
  };
  around(single, "A", 0);
  second = single;
  if (pairs) {
    around(second, "B", 1);
  } else {
    second.insert(second.end() - static_cast<std::ptrdiff_t>(back.size()), {true, "B", 0});
  }
  return std::make_shared<const Template>(std::move(single), std::move(second), std::move(tokens));
}

void set_ends(SubwordParts& parts, const FolderSettings& folder, std::string_view name) {
  const auto* known = std::find_if(kStartingClasses.begin(), kStartingClasses.end(),
                                   [&](const StartingClass& each) { return each.name == name; });
  const bool starts = known != kStartingClasses.end();
  const auto bos = folder.value<bool>("add_bos_token"), eos = folder.value<bool>("add_eos_token");
  // Only a class that the folder names adds a token by default.
  const bool adds = starts && folder.tokenizer_class() == name;
  const bool adds_some = parts.post_processor != nullptr && parts.post_processor->added(false) > 0;
  if (!bos && !eos && (!adds || adds_some)) return;
  using Named = std::pair<std::string, std::int32_t>;
  const auto tokens = [&](bool wanted, const char* key, std::string_view usual) {
    std::vector<Named> list;
    if (!wanted) return list;
    const std::string text =
        folder.token(fmt::format("{}_token", key)).value_or(std::string(usual));
    const std::int32_t id = find_token(parts, text);
    if (id < 0) {
      throw FormatError(fmt::format(
          "{}.add_{}_token is set, but {}_token is '{}', which is not in the vocabulary of "
          "tokenizer.json; set {}_token to the right token, or add_{}_token to false",
          kConfig, key, key, excerpt(text), key, key));
    }
    list.emplace_back(text, id);
    return list;
  };
  if (!bos && !eos &&
      find_token(parts, folder.token("bos_token").value_or(std::string(known->bos))) < 0)
    return;
  const auto front = tokens(bos.value_or(starts), "bos", starts ? known->bos : "");
  const auto back = tokens(eos.value_or(false), "eos", starts ? known->eos : "");
  // A post-processor that adds no tokens may still trim offsets.
  if (front.empty() && back.empty() && !adds_some) return;
  parts.post_processor = ends_template(front, back);
}

/// A class that adds the code of the source language to texts: its default, and whether the code is
/// in front of texts or after their last token.
struct LanguageClass {
  std::string_view name, usual;
  bool in_front;
};
constexpr std::array<LanguageClass, 3> kLanguageClasses = {
    LanguageClass{"NllbTokenizer", "eng_Latn", true},
    LanguageClass{"MBart50Tokenizer", "en_XX", true},
    LanguageClass{"MBartTokenizer", "en_XX", false}};

void set_source_language(SubwordParts& parts, const FolderSettings& folder) {
  const std::string name = folder.tokenizer_class();
  const auto* known = std::find_if(kLanguageClasses.begin(), kLanguageClasses.end(),
                                   [&](const LanguageClass& each) { return each.name == name; });
  if (known == kLanguageClasses.end()) return;
  const auto given = folder.value<std::string>("src_lang");
  const std::string code = given.value_or(std::string(known->usual));
  const std::string eos = folder.token("eos_token").value_or("</s>");
  const std::pair language{code, find_token(parts, code)}, end{eos, find_token(parts, eos)};
  if (given && language.second < 0) {
    throw FormatError(
        fmt::format("{}.src_lang is '{}', which is not in the vocabulary of tokenizer.json; set it "
                    "to a language code of the model, such as '{}'",
                    kConfig, excerpt(code), known->usual));
  }
  if (language.second < 0 || end.second < 0) return;
  // Only NLLB's class has this setting.
  const bool legacy =
      name == "NllbTokenizer" && folder.value<bool>("legacy_behaviour").value_or(false);
  const bool in_front = known->in_front && !legacy;
  parts.post_processor = in_front ? ends_template({{language}}, {{end}}, false)
                                  : ends_template({}, {{end, language}}, false);
}

}  // namespace

SubwordParts with_class_settings(SubwordParts parts, const FolderSettings& folder) {
  if (folder.value<bool>("split_special_tokens").value_or(false)) {
    throw FormatError(
        fmt::format("{}.split_special_tokens is true, which is not supported; remove the key to "
                    "recognise special tokens in texts",
                    kConfig));
  }
  const std::string name = folder.class_or_family();
  if (is_bert_class(name) || std::find(kBertLike.begin(), kBertLike.end(), name) != kBertLike.end())
    set_bert_normaliser(parts, folder);
  set_prefix_space(parts, folder);
  add_tokens(parts, folder);
  set_ends(parts, folder, name);
  set_source_language(parts, folder);
  return parts;
}

}  // namespace weft
