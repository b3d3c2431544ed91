#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/formats/language_codes.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_layouts.h"

namespace weft {
namespace {

using Layout = SentencePieceModel::Layout;

SentencePieceTokenizer read_model(const FolderSettings& settings, const char* file) {
  const std::string bytes = settings.read(file);
  try {
    return SentencePieceTokenizer::from_bytes(bytes);
  } catch (const FormatError& e) {
    throw FormatError(fmt::format("{}: {}", file, e.what()));
  }
}

Layout marian(const SentencePieceModel& model, const FolderSettings& settings) {
  if (settings.value<bool>("separate_vocabs").value_or(false)) {
    throw FormatError(
        "tokenizer_config.json.separate_vocabs is true: translation models with a separate "
        "vocabulary for each language are not supported");
  }
  return marian_layout(model, read_vocabulary(settings.read("vocab.json"), "vocab.json"));
}

Layout m2m100(const SentencePieceModel& model, const FolderSettings& settings) {
  const std::string codes = settings.value<std::string>("language_codes").value_or("m2m100");
  if (codes != "m2m100" && codes != "wmt21") {
    throw FormatError(fmt::format(
        "tokenizer_config.json.language_codes must be \"m2m100\" or \"wmt21\", not \"{}\"",
        excerpt(codes)));
  }
  return m2m100_layout(model, read_vocabulary(settings.read("vocab.json"), "vocab.json"),
                       codes == "wmt21" ? wmt21_languages() : m2m100_languages());
}

Layout albert(const SentencePieceModel& model, const FolderSettings& settings) {
  const auto is_on = [&](const char* key, bool usual) {
    return settings.value<bool>(key).value_or(usual);
  };
  Layout layout = plain_layout(model);
  layout.preparation = {.single_blanks = is_on("remove_space", true),
                        .quotes = true,
                        .strip_accents = !is_on("keep_accents", false),
                        .lowercase = is_on("do_lower_case", true),
                        .commas_apart = true};
  return layout;
}

Layout siglip(const SentencePieceModel& model, const FolderSettings& settings) {
  Layout layout = plain_layout(model);
  layout.preparation = {.remove_punctuation = true,
                        .single_blanks = true,
                        .lowercase = settings.value<bool>("do_lower_case").value_or(true)};
  return layout;
}

Layout deberta(const SentencePieceModel& model, const FolderSettings& settings) {
  Layout layout = deberta_layout(model);
  layout.preparation = {
      .lowercase = settings.value<bool>("do_lower_case").value_or(false),
      .split_punctuation = settings.value<bool>("split_by_punct").value_or(false)};
  return layout;
}

/// A tokenizer class: its id layout, the texts of its special tokens, the file name of its
/// SentencePiece model, and the model types that use the class.
struct Class {
  const char* name;
  Layout (*layout)(const SentencePieceModel&, const FolderSettings&);
  SpecialNames names;
  const char* file;
  std::vector<std::string_view> model_types = {};
};

const std::array<Class, 12>& classes() {
  using Model = SentencePieceModel;
  const auto plain = [](const Model& model, const FolderSettings&) { return plain_layout(model); };
  const SpecialNames fairseq = {"<pad>", "<unk>", "<s>", "</s>", "<s>", "</s>", "<mask>"};
  static const std::array<Class, 12> all = {
      Class{"T5Tokenizer",
            [](const Model& model, const FolderSettings& settings) {
              return t5_layout(model, settings.value<std::int64_t>("extra_ids").value_or(100));
            },
            {"<pad>", "<unk>", "", "</s>", "", "", ""},
            "spiece.model",
            {"t5", "mt5", "umt5", "switch_transformers"}},
      Class{"XLMRobertaTokenizer",
            [](const Model& model, const FolderSettings&) { return fairseq_layout(model); },
            fairseq,
            "sentencepiece.bpe.model",
            {"xlm-roberta", "camembert"}},
      Class{"MBartTokenizer",
            [](const Model& model, const FolderSettings&) {
              return fairseq_layout(model, mbart_languages(false));
            },
            fairseq,
            "sentencepiece.bpe.model",
            {"mbart"}},
      Class{"MBart50Tokenizer",
            [](const Model& model, const FolderSettings&) {
              return fairseq_layout(model, mbart_languages(true));
            },
            fairseq, "sentencepiece.bpe.model"},
      Class{"NllbTokenizer",
            [](const Model& model, const FolderSettings&) {
              return fairseq_layout(model, nllb_languages());
            },
            fairseq, "sentencepiece.bpe.model"},
      Class{"M2M100Tokenizer",
            m2m100,
            {"<pad>", "<unk>", "<s>", "</s>", "", "</s>", ""},
            "sentencepiece.bpe.model",
            {"m2m_100"}},
      Class{"PegasusTokenizer",
            [](const Model& model, const FolderSettings& settings) {
              return pegasus_layout(model, settings.value<std::int64_t>("offset").value_or(103));
            },
            {"<pad>", "<unk>", "", "</s>", "", "", "<mask_2>"},
            "spiece.model",
            {"pegasus"}},
      Class{"LlamaTokenizer",
            plain,
            {"", "<unk>", "<s>", "</s>", "", "", ""},
            "tokenizer.model",
            {"llama", "mistral"}},
      Class{"AlbertTokenizer",
            albert,
            {"<pad>", "<unk>", "[CLS]", "[SEP]", "[CLS]", "[SEP]", "[MASK]"},
            "spiece.model",
            {"albert"}},
      Class{"SiglipTokenizer",
            siglip,
            {"</s>", "<unk>", "", "</s>", "", "", ""},
            "spiece.model",
            {"siglip"}},
      Class{"DebertaV2Tokenizer",
            deberta,
            {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[CLS]", "[SEP]", "[MASK]"},
            "spm.model",
            {"deberta-v2"}},
      Class{"MarianTokenizer",
            marian,
            {"<pad>", "<unk>", "", "</s>", "", "", ""},
            "source.spm",
            {"marian"}}};
  return all;
}

/// Returns the class with this name, or null if there is none.
const Class* class_of(std::string_view name) {
  const auto found = std::find_if(classes().begin(), classes().end(),
                                  [&](const Class& c) { return name == c.name; });
  return found == classes().end() ? nullptr : &*found;
}

/// Returns the id layout that a class uses for a model. The settings in the folder are applied.
Layout layout_of(const SentencePieceModel& model, const Class& known,
                 const FolderSettings& settings) {
  Layout layout = known.layout(model, settings);
  layout.restarts = settings.value<bool>("legacy").value_or(true);
  SpecialNames names = known.names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = settings.token(fmt::format("{}_token", kSpecialIds[i].name)).value_or(names[i]);
  add_tokens(model, layout, settings.added(), names);
  return layout;
}

}  // namespace

SentencePieceTokenizer read_sentence_piece_folder(const FolderSettings& settings,
                                                  const char* file) {
  auto tokenizer = read_model(settings, file);
  const Class* known = class_of(settings.tokenizer_class());
  const SentencePieceModel& model = tokenizer.model();
  if (known == nullptr || !model.layout.ids.empty()) return tokenizer;
  Layout layout = layout_of(model, *known, settings);
  // If target.spm exists, the target texts of the translation model use this separate SentencePiece
  // model.
  if (constexpr const char* kTarget = "target.spm";
      std::string_view(file) == "source.spm" && settings.has(kTarget)) {
    SentencePieceModel target = read_model(settings, kTarget).model();
    target.layout = layout_of(target, *known, settings);
    layout.target = std::make_shared<const SentencePieceModel>(std::move(target));
  }
  return tokenizer.with_layout(std::move(layout));
}

SentencePieceFiles sentence_piece_files(std::string_view tokenizer_class,
                                        std::string_view model_type) {
  if (constexpr std::string_view kFast = "Fast"; tokenizer_class.ends_with(kFast))
    tokenizer_class.remove_suffix(kFast.size());
  const Class* known = class_of(tokenizer_class);
  for (const Class& other : classes()) {
    const auto& types = other.model_types;
    if (known == nullptr && std::find(types.begin(), types.end(), model_type) != types.end())
      known = &other;
  }
  if (known == nullptr) return {};
  return {known->file, known->layout == marian || known->layout == m2m100};
}

}  // namespace weft
