#include "weft/models/text/tokenizers/formats/sentence_piece_layouts.h"

#include <fmt/format.h>

#include <unordered_map>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

using Layout = SentencePieceModel::Layout;
using Added = SentencePieceModel::Added;

constexpr std::int64_t kMaxExtra = std::int64_t{1} << 16;  // upper limit for extra_ids and offset

std::int32_t place_of(const SentencePieceModel& model, std::string_view text) {
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    if (model.pieces[i].text == text) return static_cast<std::int32_t>(i);
  }
  return -1;
}

void append(Layout& layout, const Added& token) {
  layout.added.push_back(token);
  layout.ids.push_back(-static_cast<std::int32_t>(layout.added.size()));
}

/// Appends the piece of the model that has this text, or a new piece if there is none.
void append_named(const SentencePieceModel& model, Layout& layout, const std::string& text) {
  const std::int32_t place = place_of(model, text);
  if (place >= 0)
    layout.ids.push_back(place);
  else
    append(layout, {text});
}

void append_rest(const SentencePieceModel& model, Layout& layout, std::size_t first) {
  for (std::size_t i = first; i < model.pieces.size(); ++i)
    layout.ids.push_back(static_cast<std::int32_t>(i));
}

}  // namespace

Layout plain_layout(const SentencePieceModel& model) {
  Layout layout;
  append_rest(model, layout, 0);
  return layout;
}

Layout t5_layout(const SentencePieceModel& model, std::int64_t extra_ids) {
  if (extra_ids < 0 || extra_ids > kMaxExtra)
    throw FormatError(fmt::format("tokenizer_config.json.extra_ids must be from 0 to {}, not {}",
                                  kMaxExtra, extra_ids));
  Layout layout = plain_layout(model);
  for (std::int64_t i = extra_ids - 1; i >= 0; --i) {
    append(layout, {.text = fmt::format("<extra_id_{}>", i), .lstrip = true, .rstrip = true});
  }
  return layout;
}

Layout fairseq_layout(const SentencePieceModel& model,
                      std::span<const std::string_view> languages) {
  Layout layout;
  for (const char* text : {"<s>", "<pad>", "</s>"}) append_named(model, layout, text);
  layout.ids.push_back(model.unknown());
  append_rest(model, layout, 3);
  for (const std::string_view language : languages) append(layout, {std::string(language)});
  append(layout, {.text = "<mask>", .lstrip = true});
  return layout;
}

Layout pegasus_layout(const SentencePieceModel& model, std::int64_t offset) {
  if (offset != 0 && (offset < 4 || offset > kMaxExtra))
    throw FormatError(fmt::format("tokenizer_config.json.offset must be 0, or from 4 to {}, not {}",
                                  kMaxExtra, offset));
  Layout layout;
  for (const char* text : {"<pad>", "</s>"}) append_named(model, layout, text);
  if (offset > 0) {
    for (const char* text : {"<mask_1>", "<mask_2>"}) append(layout, {text});
    for (std::int64_t i = 2; i < offset; ++i) append(layout, {fmt::format("<unk_{}>", i)});
  }
  append_rest(model, layout, 2);
  return layout;
}

Layout deberta_layout(const SentencePieceModel& model) {
  Layout layout = plain_layout(model);
  if (place_of(model, "[MASK]") < 0) append(layout, {.text = "[MASK]"});
  return layout;
}

Layout marian_layout(const SentencePieceModel& model, const Vocabulary& vocab) {
  std::unordered_map<std::string_view, std::int32_t> places;
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    places.emplace(model.pieces[i].text, static_cast<std::int32_t>(i));
  if (vocab.find("<unk>") < 0) throw FormatError("vocab.json lacks '<unk>'");
  Layout layout;
  for (std::int32_t id = 0; id < vocab.size(); ++id) {
    if (!vocab.has(id)) throw FormatError(fmt::format("vocab.json lacks the id {}", id));
    const std::string text(vocab.piece(id));
    const auto it = places.find(text);
    if (text == "<unk>") {
      layout.ids.push_back(model.unknown());
    } else if (it != places.end() && it->second != model.unknown()) {
      layout.ids.push_back(it->second);
    } else {
      // This text is a piece of the other language's model, or the padding token.
      const bool special = text == "<pad>" || text == "</s>" || text == "<s>" ||
                           (text.starts_with(">>") && text.ends_with("<<"));
      append(layout, {.text = text, .special = special});
    }
  }
  return layout;
}

Layout m2m100_layout(const SentencePieceModel& model, const Vocabulary& vocab,
                     std::span<const std::string_view> languages) {
  Layout layout = marian_layout(model, vocab);
  for (const std::string_view language : languages)
    append(layout, {.text = fmt::format("__{}__", language)});
  return layout;
}

void add_tokens(const SentencePieceModel& model, Layout& layout, std::span<const AddedToken> tokens,
                const SpecialNames& names) {
  // avoids reallocation: `ids` stores views of the texts
  layout.added.reserve(layout.added.size() + tokens.size());
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = 0; id < layout.ids.size(); ++id) {
    const std::int32_t place = layout.ids[id];
    ids.emplace(place < 0 ? layout.added[static_cast<std::size_t>(-1 - place)].text
                          : model.pieces[static_cast<std::size_t>(place)].text,
                static_cast<std::int32_t>(id));
  }
  for (const AddedToken& token : tokens) {
    const auto next = static_cast<std::int32_t>(layout.ids.size());
    const auto [known, added] = ids.emplace(token.content, next);
    if (known->second != token.id) {
      throw FormatError(
          fmt::format("the added token '{}' has the id {}; {}", excerpt(token.content), token.id,
                      added ? fmt::format("the next free id is {}", next)
                            : fmt::format("its id in the model is {}", known->second)));
    }
    if (added) append(layout, {token.content, token.special, token.lstrip, token.rstrip});
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto it = ids.find(names[i]);
    if (!names[i].empty()) layout.special.*kSpecialIds[i].id = it == ids.end() ? -1 : it->second;
  }
}

}  // namespace weft
