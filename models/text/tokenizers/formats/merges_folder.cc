#include "weft/models/text/tokenizers/formats/merges_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/formats/text_files.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using nlohmann::json;

json byte_level(bool add_prefix_space, bool use_regex = true) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

/// The components that Hugging Face's converter creates when it converts a tokenizer class to a
/// tokenizer.json.
struct Description {
  json normalizer = nullptr, pre_tokenizer, decoder = byte_level(true);
  std::optional<std::string> suffix = {};  // suffix of pieces at the end of a word
  bool unknown = false;                    // unknown text is encoded as the unknown token
  bool bytes = true;                       // byte-level BPE
};

json split(const char* pattern, const char* behavior, bool invert) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", behavior},
          {"invert", invert}};
}

json sequence(const char* key, json parts) {
  return {{"type", "Sequence"}, {key, std::move(parts)}};
}

Description byte_pairs(const FolderSettings& folder) {
  return {.pre_tokenizer = byte_level(folder.value<bool>("add_prefix_space").value_or(false))};
}

Description qwen2(const FolderSettings&) {
  const char* const pattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  return {.normalizer = {{"type", "NFC"}},
          .pre_tokenizer = sequence("pretokenizers",
                                    {split(pattern, "Isolated", false), byte_level(false, false)})};
}

Description clip(const FolderSettings&) {
  const json blanks = {{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}};
  const char* const pattern = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
  return {.normalizer =
              sequence("normalizers", {json{{"type", "NFC"}}, blanks, json{{"type", "Lowercase"}}}),
          .pre_tokenizer =
              sequence("pretokenizers", {split(pattern, "Removed", true), byte_level(false)}),
          .suffix = "</w>",
          .unknown = true};
}

Description gpt1(const FolderSettings&) {
  return {.normalizer = {{"type", "BertNormalizer"},
                         {"clean_text", true},
                         {"handle_chinese_chars", true},
                         {"strip_accents", nullptr},
                         {"lowercase", true}},
          .pre_tokenizer = {{"type", "BertPreTokenizer"}},
          .decoder = {{"type", "BPEDecoder"}, {"suffix", "</w>"}},
          .suffix = "</w>",
          .unknown = true,
          .bytes = false};
}

/// The template for special tokens around texts.
enum class TemplateKind {
  nothing,
  first,    // a special token before the first text
  last,     // </s> after a text, and nothing around two texts
  roberta,  // <s> A </s> and <s> A </s> </s> B </s>
  types     // [CLS] A [SEP] and [CLS] A [SEP] B [SEP], with type ids 0 and 1
};

/// A group of tokenizer classes that behave identically.
struct MergesClass {
  std::vector<std::string_view> names;        // class names without the suffix "Fast"
  std::vector<std::string_view> model_types;  // values of model_type in config.json
  Description (*describe)(const FolderSettings&);
  TemplateKind template_kind;
  SpecialNames special;  // defaults, overridden by the folder
};

const std::vector<MergesClass>& merges_classes() {
  const SpecialNames fairseq = {"<pad>", "<unk>", "<s>", "</s>", "<s>", "</s>", "<mask>"};
  static const std::vector<MergesClass> all = {
      {{"RobertaTokenizer", "BartTokenizer", "LEDTokenizer", "LongformerTokenizer", "MvpTokenizer"},
       {"roberta", "bart", "led", "longformer", "mvp"},
       byte_pairs,
       TemplateKind::roberta,
       fairseq},
      {{"BlenderbotTokenizer"}, {"blenderbot"}, byte_pairs, TemplateKind::last, fairseq},
      {{"DebertaTokenizer"},
       {"deberta"},
       byte_pairs,
       TemplateKind::types,
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[CLS]", "[SEP]", "[MASK]"}},
      {{"Qwen2Tokenizer"},
       {"qwen2", "qwen3"},
       qwen2,
       TemplateKind::nothing,
       {"<|endoftext|>", "", "", "<|endoftext|>", "", "", ""}},
      {{"CLIPTokenizer"},
       {"clip", "clip_text_model"},
       clip,
       TemplateKind::roberta,
       {"<|endoftext|>", "<|endoftext|>", "<|startoftext|>", "<|endoftext|>", "<|startoftext|>",
        "<|endoftext|>", ""}},
      {{"OpenAIGPTTokenizer"},
       {"openai-gpt"},
       gpt1,
       TemplateKind::nothing,
       {"", "<unk>", "", "", "", "", ""}}};
  return all;
}

constexpr std::array<std::string_view, 3> kGpt2 = {"GPT2Tokenizer", "CodeGenTokenizer",
                                                   "GPTNeoXTokenizer"};

/// Returns the model_type in config.json, or "" if there is none.
std::string model_type(const FolderSettings& folder) {
  if (!folder.has("config.json")) return {};
  const json config = parse_json_object(folder.read("config.json"), "config.json");
  const auto found = config.find("model_type");
  return found != config.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Returns the entry for the folder's tokenizer class, or null for GPT-2's class. Throws
/// FormatError if the class is unknown.
const MergesClass* merges_class_of(const FolderSettings& folder) {
  const auto has = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string name = folder.tokenizer_class();
  if (name.empty()) {
    const std::string type = model_type(folder);
    for (const MergesClass& known : merges_classes())
      if (has(known.model_types, type)) return &known;
    return nullptr;
  }
  for (const MergesClass& known : merges_classes())
    if (has(known.names, name)) return &known;
  if (std::find(kGpt2.begin(), kGpt2.end(), name) != kGpt2.end()) return nullptr;
  std::vector<std::string_view> names(kGpt2.begin(), kGpt2.end());
  for (const MergesClass& known : merges_classes())
    names.insert(names.end(), known.names.begin(), known.names.end());
  throw FormatError(fmt::format(
      "unsupported tokenizer class {} for vocab.json and merges.txt; supported are {} (or add a "
      "tokenizer.json, which Hugging Face's library can write for every class)",
      excerpt(name), fmt::join(names, ", ")));
}

template <class Part>
Part part_of(const json& described) {
  Part part;
  if (!described.is_null()) JsonForm<Part>::read(described, "the tokenizer component", part);
  return part;
}

/// A special token and its id. The id is -1 if the token is not in the vocabulary.
struct Special {
  std::string name;
  std::int32_t id = -1;
};

/// Returns the JSON of a TemplateProcessing. In the lists, an entry with the id -1 stands for a
/// text ("A" or "B").
json template_of(const std::vector<std::pair<Special, int>>& single,
                 const std::vector<std::pair<Special, int>>& pair) {
  json tokens = json::object();
  const auto pieces = [&](const std::vector<std::pair<Special, int>>& parts) {
    json result = json::array();
    for (const auto& [special, type] : parts) {
      const char* const kind = special.id < 0 ? "Sequence" : "SpecialToken";
      result.push_back({{kind, {{"id", special.name}, {"type_id", type}}}});
      if (special.id >= 0)
        tokens[special.name] = {
            {"id", special.name}, {"ids", {special.id}}, {"tokens", {special.name}}};
    }
    return result;
  };
  json described = {
      {"type", "TemplateProcessing"}, {"single", pieces(single)}, {"pair", pieces(pair)}};
  described["special_tokens"] = tokens;
  return described;
}

PostProcessorPtr post_processor_of(TemplateKind template_kind, const Special& first,
                                   const Special& last, const FolderSettings& folder) {
  const Special a{"A"}, b{"B"};
  if (template_kind == TemplateKind::roberta && first.id >= 0 && last.id >= 0) {
    return part_of<PostProcessorPtr>(
        {{"type", "RobertaProcessing"},
         {"sep", {last.name, last.id}},
         {"cls", {first.name, first.id}},
         {"trim_offsets", true},
         {"add_prefix_space", folder.value<bool>("add_prefix_space").value_or(false)}});
  }
  if (template_kind == TemplateKind::types && first.id >= 0 && last.id >= 0) {
    return part_of<PostProcessorPtr>(template_of(
        {{first, 0}, {a, 0}, {last, 0}}, {{first, 0}, {a, 0}, {last, 0}, {b, 1}, {last, 1}}));
  }
  if (template_kind == TemplateKind::first && first.id >= 0)
    return part_of<PostProcessorPtr>(
        template_of({{first, 0}, {a, 0}}, {{first, 0}, {a, 0}, {b, 1}}));
  if (template_kind == TemplateKind::last && last.id >= 0)
    return part_of<PostProcessorPtr>(template_of({{a, 0}, {last, 0}}, {{a, 0}, {b, 1}}));
  json bytes = byte_level(true);
  bytes["trim_offsets"] = false;
  return part_of<PostProcessorPtr>(bytes);
}

SubwordParts read_class(const MergesClass& known, const FolderSettings& folder) {
  const Description description = known.describe(folder);
  SubwordParts parts;
  Vocabulary vocabulary = read_vocabulary(folder.read("vocab.json"), "vocab.json");
  std::array<Special, kSpecialIds.size()> special;
  for (std::size_t i = 0; i < special.size(); ++i) {
    const auto& [name, id] = kSpecialIds[i];
    Special& one = special[i];
    one.name = folder.token(fmt::format("{}_token", name)).value_or(known.special[i]);
    if (!one.name.empty()) one.id = vocabulary.find(one.name);
    parts.special.*id = one.id;
    const auto same = [&](const AddedToken& other) { return other.content == one.name; };
    if (one.id < 0 || std::any_of(parts.added.begin(), parts.added.end(), same)) continue;
    AddedToken& token = parts.added.emplace_back();
    token.id = one.id;
    token.content = one.name;
    token.special = true;
    token.normalized = false;
    token.lstrip = one.name == "<mask>" || one.name == "[MASK]";
  }
  const auto place = [&](std::string_view name) {
    const auto found = std::find_if(kSpecialIds.begin(), kSpecialIds.end(),
                                    [&](const SpecialIdName& each) { return name == each.name; });
    return static_cast<std::size_t>(found - kSpecialIds.begin());
  };
  subwords::Bpe::Settings settings;
  settings.suffix = description.suffix;
  if (const Special& unknown = special[place("unk")]; description.unknown && unknown.id >= 0)
    settings.unknown_token = unknown.name;
  parts.normalizer = part_of<NormalizerPtr>(description.normalizer);
  parts.pre_tokenizer = part_of<PreTokenizerPtr>(description.pre_tokenizer);
  parts.decoder = part_of<DecoderPtr>(description.decoder);
  parts.model = std::make_shared<const subwords::Bpe>(
      std::move(vocabulary), read_merges(folder.read("merges.txt")), settings, description.bytes);
  if (description.bytes)
    parts.post_processor = post_processor_of(known.template_kind, special[place("cls")],
                                             special[place("sep")], folder);
  return parts;
}

SubwordParts read_gpt2(const FolderSettings& folder) {
  SubwordParts parts =
      read_gpt2_files(folder.read("vocab.json"), folder.read("merges.txt"),
                      {.add_prefix_space = folder.value<bool>("add_prefix_space").value_or(false)});
  // If "add_bos_token" is set, texts start with a special token (for example, in OPT models).
  if (!folder.value<bool>("add_bos_token").value_or(false)) return parts;
  const Special first{folder.token("bos_token").value_or("<|endoftext|>"),
                      parts.model->find(folder.token("bos_token").value_or("<|endoftext|>"))};
  parts.post_processor = post_processor_of(TemplateKind::first, first, {}, folder);
  return parts;
}

}  // namespace

SubwordParts read_merges_folder(const FolderSettings& folder) {
  const MergesClass* const known = merges_class_of(folder);
  return known == nullptr ? read_gpt2(folder) : read_class(*known, folder);
}

}  // namespace weft
