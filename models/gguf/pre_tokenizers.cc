#include "weft/models/gguf/pre_tokenizers.h"

#include <fmt/format.h>

#include <vector>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft::gguf {
namespace {

using nlohmann::json;

// Patterns of the original tokenizers. llama.cpp uses equivalent ones for its own regular
// expressions (src/llama-vocab.cpp).
constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
/// The spelling in BLOOM's tokenizer.json, with nested brackets.
constexpr const char* kNestedBloom = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";
constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kDigits3 = R"(\p{N}{1,3})";
constexpr const char* kThreeDigits = "[0-9][0-9][0-9]";
constexpr const char* kPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr const char* kCjk = "[一-龥぀-ゟ゠-ヿ]+";
constexpr const char* kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Patterns that are applied one after another; each isolates its matches.
struct Known {
  std::vector<std::string_view> names;  // the first one is written
  std::vector<const char*> patterns;
  bool ignore_merges = false, adds_bos = false;
};

const std::vector<Known>& known_pre_tokenizers() {
  static const std::vector<Known> all = {
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "granite-docling",
        "gigachat", "mellum", "a.x-4.0", "modern-bert"},
       {kGpt2}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
       {kLlama3},
       true,
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {kLlama3}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "kormo", "solar-open",
        "grok-2"},
       {kQwen2}},
      {{"qwen35"}, {kQwen35}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"},
       {kDigit, kGpt2}},
      {{"tekken"}, {kTekken}, true, true},
      {{"gpt-4o", "llama4", "kanana2", "talkie"}, {kGpt4o}},
      {{"falcon"}, {kPunctuation, kGpt2, kThreeDigits}},
      {{"deepseek-coder"},
       {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", kDigit}},
      {{"deepseek-v3", "hunyuan-dense"}, {kDigits3, kCjk, kDeepseek3}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}},
      {{"viking"}, {kBloom, kDigit}},
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", kThreeDigits}},
  };
  return all;
}

json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json component_of(const std::vector<const char*>& patterns) {
  json parts = json::array();
  for (const char* pattern : patterns) {
    if (pattern == kGpt2 && pattern == patterns.back()) continue;  // part of ByteLevel
    parts.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  parts.push_back(byte_level(patterns.back() == kGpt2));
  return parts.size() == 1 ? parts.front()
                           : json{{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
}

/// Returns the patterns of a component, or std::nullopt if it has another effect.
std::optional<std::vector<std::string>> patterns_of(const json& component) {
  const std::string type = component.value("type", "");
  if (type == "Sequence") {
    std::vector<std::string> all;
    for (const json& part : component.at("pretokenizers")) {
      const auto patterns = patterns_of(part);
      if (!patterns) return std::nullopt;
      all.insert(all.end(), patterns->begin(), patterns->end());
    }
    return all;
  }
  if (type == "ByteLevel") {
    if (component.value("add_prefix_space", true)) return std::nullopt;
    return component.value("use_regex", true) ? std::vector<std::string>{kGpt2}
                                              : std::vector<std::string>{};
  }
  if (type == "Digits" && component.value("individual_digits", false))
    return std::vector<std::string>{kDigit};
  if (type != "Split" || !component.at("pattern").contains("Regex")) return std::nullopt;
  // These patterns match every character, so that removing the rest has the same effect.
  const std::string behavior = component.value("behavior", "");
  const bool isolates = behavior == "Isolated" && !component.value("invert", false);
  const bool keeps = behavior == "Removed" && component.value("invert", false);
  if (!isolates && !keeps) return std::nullopt;
  const auto pattern = component.at("pattern").at("Regex").get<std::string>();
  return std::vector<std::string>{pattern == kNestedBloom ? kBloom : pattern};
}

}  // namespace

PreTokenizer find_pre_tokenizer(std::string_view name) {
  std::vector<std::string> names;
  for (const Known& known : known_pre_tokenizers()) {
    for (const std::string_view candidate : known.names) {
      if (candidate == name)
        return {component_of(known.patterns), known.ignore_merges, known.adds_bos};
      names.emplace_back(candidate);
    }
  }
  throw FormatError(unknown_name("pre-tokenizer (tokenizer.ggml.pre)", name, names));
}

std::optional<std::string> pre_tokenizer_name(const json& component, bool ignore_merges) {
  const auto patterns = patterns_of(component);
  if (!patterns) return std::nullopt;
  for (const Known& known : known_pre_tokenizers()) {
    const std::vector<std::string> own(known.patterns.begin(), known.patterns.end());
    if (own == *patterns && known.ignore_merges == ignore_merges)
      return std::string(known.names.front());
  }
  return std::nullopt;
}

}  // namespace weft::gguf
